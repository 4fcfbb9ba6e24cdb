// The settings of strategies whose nodes exchange weights, with their table.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/setting.hpp"

namespace plait::strategy {

struct ReplicaOptions {
  std::int64_t warmup_epochs = 1;       ///< of daso: block at the beginning
  std::int64_t cooldown_epochs = 1;     ///< of daso: block at the end
  std::int64_t exchange_every = 4;      ///< of daso: steps from one exchange to the next, at first
  std::int64_t exchange_wait = 1;       ///< of daso: steps until it is merged
  std::int64_t exchange_most = 8;       ///< of daso: the largest exchange_every
  std::int64_t exchange_patience = 3;   ///< of daso: epochs without 5 % until these change
  std::string merge = "corrected";      ///< of daso: or paper
  std::string exchange_wire = "fp32";   ///< of weights between nodes
  std::int64_t local_steps = 8;         ///< of local_sgd and diloco: between exchanges
  double outer_lr = 0;                  ///< of diloco; 0: by local_steps and the run's length
  double outer_momentum = -1;           ///< of diloco; -1: the same
  std::string inner = "data_parallel";  ///< of all three: the strategy inside a node
  bool operator==(const ReplicaOptions&) const = default;
};

std::span<const Setting<ReplicaOptions>> replica_settings();

}  // namespace plait::strategy
