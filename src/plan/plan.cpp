// Owners, staleness, depth, bytes on the wire and descriptions: all that follows from a plan
// without playing it.
#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/overloaded.hpp"

namespace plait::plan {

namespace {

std::string block_text(const Plan& plan, int block) {
  if (block < 0 || block >= plan.network.size()) return fmt::format("block {}", block);
  const std::string& name = plan.network.blocks[static_cast<std::size_t>(block)].name;
  return name.empty() ? fmt::format("block {}", block) : name;
}

std::int64_t bucket_elements(const Plan& plan, const Bucket& bucket) {
  std::int64_t elements = 0;
  for (int index : bucket.blocks) {
    const NetworkBlock& block = plan.network.blocks.at(static_cast<std::size_t>(index));
    const std::int64_t weights = block.owns_weights() ? block.parameters : 0;
    switch (bucket.payload) {
      case Payload::gradient: elements += block.parameters; break;
      case Payload::state: elements += block.state; break;
      case Payload::weights:
      case Payload::outer: elements += weights + block.state; break;
      case Payload::optimizer: elements += weights * plan.optimizer_states; break;
    }
  }
  return elements * (bucket.part + 1) / bucket.parts - elements * bucket.part / bucket.parts;
}

/// Values of shard `member` of n, as transport/pieces.hpp cuts them: in units of 16.
std::int64_t shard_size(std::int64_t n, int members, int member) {
  constexpr std::int64_t unit = 16;
  const std::int64_t units = (n + unit - 1) / unit;
  const auto begin = [&](int m) { return std::min(n, units * m / members * unit); };
  return begin(member + 1) - begin(member);
}

/// "12 rows of " on the side that picks them.
std::string rows_text(const Plan& plan, const Task& task) {
  const auto list = static_cast<std::size_t>(message_of(task)->list);
  if (!packs(task) || message_of(task)->half || list >= plan.row_lists.size()) return "";
  return fmt::format("{} rows of ", plan.row_lists[list].size());
}

/// "tensor 5", "the gradient of tensor 5", "what forward leaves of conv1", "the weights of conv1".
std::string message_text(const Plan& plan, const Task& task) {
  const auto& [role, index, samples] = message_of(task)->value;
  switch (role) {
    case Role::tensor:
    case Role::diff:
      return fmt::format("{}{}tensor {}", rows_text(plan, task),
                         role == Role::diff ? "the gradient of " : "", index);
    case Role::saved: return "what forward leaves of " + block_text(plan, index);
    case Role::pending: return "what backward_data leaves of " + block_text(plan, index);
    default: return fmt::format("the {} of {}", name_of(role), block_text(plan, index));
  }
}

/// Per sample; of weights and their gradient, all.
std::int64_t message_elements(const Plan& plan, const Message& message) {
  if (message.list >= 0)
    return std::ssize(plan.row_lists.at(static_cast<std::size_t>(message.list)));
  const auto index = static_cast<std::size_t>(message.value.index);
  if (is_of_tensor(message.value.role)) return plan.network.tensors.at(index);
  const NetworkBlock& block = plan.network.blocks.at(index);
  return is_permanent(message.value.role) ? block.parameters : block.inner_elements;
}

std::int64_t send_bytes(const Plan& plan, const Message& message) {
  const bool of_all = is_permanent(message.value.role);
  const std::int64_t samples = of_all ? 1 : message.value.samples.count(plan.batch);
  return message_elements(plan, message) * samples * (message.half ? 2 : 4);
}

std::int64_t reduce_bytes(const Plan& plan, int worker, const Reduce& reduce) {
  if (reduce.move == Move::finish) return 0;
  const std::vector<int>& group = plan.groups.at(static_cast<std::size_t>(reduce.group));
  const auto found = std::ranges::lower_bound(group, worker);
  if (found == group.end() || *found != worker) return 0;
  const Bucket& bucket = plan.buckets.at(static_cast<std::size_t>(reduce.bucket));
  return number_bytes(plan, bucket) * sent_numbers(reduce.move, bucket_elements(plan, bucket),
                                                   static_cast<int>(group.size()),
                                                   static_cast<int>(found - group.begin()));
}

}  // namespace

std::string_view name_of(OldWeights how) {
  switch (how) {
    case OldWeights::stash: return "stash";
    case OldWeights::rebuilt: return "rebuilt";
    case OldWeights::predicted: return "predicted";
  }
  return "unknown";
}

std::string_view name_of(Payload payload) {
  switch (payload) {
    case Payload::gradient: return "gradient";
    case Payload::state: return "state";
    case Payload::weights: return "weights";
    case Payload::optimizer: return "optimizer";
    case Payload::outer: return "outer";
  }
  return "unknown";
}

std::string_view name_of(MergeKind kind) {
  switch (kind) {
    case MergeKind::average: return "average";
    case MergeKind::weighted: return "weighted";
    case MergeKind::corrected: return "corrected";
    case MergeKind::outer: return "outer";
    case MergeKind::gather: return "gather";
  }
  return "unknown";
}

int Plan::depth() const {
  int depth = 0;
  for (const Program& program : programs) {
    for (const Task& task : program.tasks) depth = std::max(depth, task.when.offset);
  }
  return depth;
}

std::vector<int> owners(const Plan& plan) {
  std::vector<int> owner(plan.network.blocks.size(), -1);
  for (int worker = 0; worker < plan.workers(); ++worker) {
    for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      const auto* update = std::get_if<Update>(&task.what);
      if (update == nullptr) continue;
      int& first = owner.at(static_cast<std::size_t>(update->block));
      if (first < 0) first = worker;
    }
  }
  return owner;
}

std::vector<int> state_owners(const Plan& plan) {
  std::vector<int> owner(plan.network.blocks.size(), -1);
  for (int worker = 0; worker < plan.workers(); ++worker) {
    for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      const auto* forward = std::get_if<Forward>(&task.what);
      if (forward == nullptr || !forward->moves_state) continue;
      int& first = owner.at(static_cast<std::size_t>(plan.network.home_of(forward->block)));
      if (first < 0) first = worker;
    }
  }
  return owner;
}

std::vector<int> staleness(const Plan& plan) {
  std::vector<int> result(plan.network.blocks.size(), 0);
  for (const Program& program : plan.programs) {
    for (const Task& task : program.tasks) {
      const std::optional<int> delay = delay_of(task);
      if (!delay) continue;
      const int block = block_of(task);
      for (const int of : {plan.network.home_of(block), plan.network.owner_of(block)}) {
        int& most = result.at(static_cast<std::size_t>(of));
        most = std::max(most, *delay);
      }
    }
  }
  return result;
}

std::string describe(const Plan& plan, const Task& task) {
  const std::string_view kind = name_of(kind_of(task));
  if (const Message* message = message_of(task)) {
    return fmt::format("{} of {} {} worker {}", kind, message_text(plan, task),
                       is<Send>(task) ? "to" : "from", message->peer);
  }
  return std::visit(
      [&](const auto& what) {
        if constexpr (requires { what.block; }) {
          return fmt::format("{} of {}", kind, block_text(plan, what.block));
        } else if constexpr (requires { what.bucket; }) {
          return fmt::format("{} of bucket {}", kind, what.bucket);
        } else {
          return std::string(kind);
        }
      },
      task.what);
}

std::int64_t wire_bytes(const Plan& plan, int worker, const Task& task) {
  return std::visit(
      overloaded{[&](const Send& send) { return send_bytes(plan, send.message); },
                 [&](const Reduce& reduce) { return reduce_bytes(plan, worker, reduce); },
                 [](const auto&) { return std::int64_t{0}; }},
      task.what);
}

bool has_outer_optimizer(const Plan& plan) {
  return std::ranges::any_of(plan.buckets, [](const Bucket& bucket) {
    return bucket.payload == Payload::weights && bucket.merge.kind == MergeKind::outer;
  });
}

std::int64_t bucket_numbers(const Plan& plan, const Bucket& bucket) {
  return bucket_elements(plan, bucket);
}

// transport/reduction.hpp: start sends every shard but the own one to its member, sum sends the own
// shard to all others.
std::int64_t sent_numbers(Move move, std::int64_t numbers, int members, int member) {
  if (move == Move::finish) return 0;
  const std::int64_t own = shard_size(numbers, members, member);
  return move == Move::start ? numbers - own : own * (members - 1);
}

int number_bytes(const Plan& plan, const Bucket& bucket) {
  if (bucket.payload == Payload::gradient) return plan.wire_bytes;
  return bucket.half ? 2 : 4;
}

std::int64_t bucket_bytes(const Plan& plan, const Bucket& bucket) {
  return bucket_elements(plan, bucket) * number_bytes(plan, bucket);
}

}  // namespace plait::plan
