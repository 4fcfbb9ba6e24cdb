// What the tests of this room share: small networks, and the message of a refusal.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "graph/zoo.hpp"
#include "plan/network.hpp"

namespace plait::cost {

inline plan::Network lenet() {
  return plan::make_network(graph::make_model("lenet", {1, 28, 28}, 10));
}

/// Block 0 (4 -> 8, 32 parameters, 32 MACs), block 1 (8 -> 2, no parameters, 5 inside).
inline plan::Network two_blocks() {
  return {.name = "two",
          .blocks = {{.name = "a", .srcs = {0}, .dst = 1, .parameters = 32, .macs = 32},
                     {.name = "b", .srcs = {1}, .dst = 2, .inner_elements = 5}},
          .tensors = {4, 8, 2},
          .input = {4}};
}

inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

}  // namespace plait::cost
