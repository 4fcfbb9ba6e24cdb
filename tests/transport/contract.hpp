// The promises of Group and Reduction, one suite for every transport.
#pragma once

#include "transport/contract_groups.hpp"
#include "transport/contract_messages.hpp"
#include "transport/contract_reductions.hpp"

namespace plait::transport::contract {

inline std::vector<Case> cases() {
  std::vector<Case> all = message_cases();
  for (const auto& more : {group_cases(), reduction_cases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace plait::transport::contract
