// Value: one of the arrays that tasks read and write, and the part of a minibatch it belongs to.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace plait::plan {

/// What a value is, and what its index names.
enum class Role : std::uint8_t {
  tensor,         ///< tensor of the network
  diff,           ///< gradient of that tensor
  targets,        ///< 0
  saved,          ///< block; forward .. its last backward
  pending,        ///< block; backward_data .. backward_weights
  partial,        ///< block; gradient of one microbatch before it is added
  sent_rows,      ///< row list; rows of a tensor, picked to be sent
  received_rows,  ///< row list; rows of a gradient, before they are put where they belong
  half_tensor,    ///< tensor; all of it as bf16, on its way
  half_diff,      ///< tensor; the same of its gradient
  weights,        ///< block; lives as long as the run, like the next two
  gradient,
  state,
};

std::string_view name_of(Role role);
/// Weights, gradient and state belong to the worker, everything else to one minibatch.
constexpr bool is_permanent(Role role) {
  return role == Role::weights || role == Role::gradient || role == Role::state;
}
/// What a message carries that is not the value itself.
constexpr bool is_packed(Role role) {
  return role == Role::sent_rows || role == Role::received_rows || role == Role::half_tensor ||
         role == Role::half_diff;
}
/// Tensors and diffs are named by a tensor of the network.
constexpr bool is_of_tensor(Role role) { return role == Role::tensor || role == Role::diff; }

/// The samples floor(n begin / of) .. floor(n end / of) of a minibatch of n.
struct Samples {
  int begin = 0;
  int end = 1;
  int of = 1;
  std::int64_t first(std::int64_t n) const { return n * begin / of; }
  std::int64_t last(std::int64_t n) const { return n * end / of; }
  std::int64_t count(std::int64_t n) const { return last(n) - first(n); }
  auto operator<=>(const Samples&) const = default;
};

/// Part `part` of `parts` equal ones.
constexpr Samples part_of(int part, int parts) { return {part, part + 1, parts}; }

struct Value {
  Role role = Role::tensor;
  int index = 0;
  Samples samples{};  ///< of values that belong to a minibatch
  auto operator<=>(const Value&) const = default;
};

std::uint64_t hash_of(const Value& value);

}  // namespace plait::plan
