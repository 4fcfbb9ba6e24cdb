// Names of the roles of values, and their hash.
#include "plan/value.hpp"

namespace plait::plan {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::tensor: return "tensor";
    case Role::diff: return "diff";
    case Role::targets: return "targets";
    case Role::saved: return "saved";
    case Role::pending: return "pending";
    case Role::partial: return "partial";
    case Role::sent_rows: return "sent_rows";
    case Role::received_rows: return "received_rows";
    case Role::half_tensor: return "half_tensor";
    case Role::half_diff: return "half_diff";
    case Role::weights: return "weights";
    case Role::gradient: return "gradient";
    case Role::state: return "state";
  }
  return "unknown";
}

std::uint64_t hash_of(const Value& value) {
  constexpr std::uint64_t mixer = 0x9E3779B97F4A7C15;
  auto hash = static_cast<std::uint64_t>(value.role);
  for (int part : {value.index, value.samples.begin, value.samples.end, value.samples.of}) {
    hash = (hash ^ static_cast<std::uint32_t>(part)) * mixer;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace plait::plan
