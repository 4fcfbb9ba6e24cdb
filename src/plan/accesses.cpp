// The accesses of every kind of task. A new kind of task is described here and nowhere else.
#include "plan/accesses.hpp"

namespace plait {

namespace {

/// Collects the accesses of one task.
class Collector {
 public:
  Collector(const Plan& plan, const Task& task, std::vector<Access>& out)
      : plan_(plan), task_(task), out_(out) {}

  void read(Role role, int index) { add(role, index, false); }
  void write(Role role, int index) { add(role, index, true); }
  void read_and_write(Role role, int index) {
    read(role, index);
    write(role, index);
  }

  void forward(const NetworkBlock& block) {
    read(Role::tensor, block.src);
    if (block.joins()) {
      read(Role::tensor, block.other);
      write(Role::tensor, block.dst);
      return;
    }
    if (block.parameters > 0) read(Role::weights, home());
    if (block.state > 0 && !task_.accumulate) read_and_write(Role::state, home());
    if (block.adds) read(Role::tensor, block.dst);
    write(Role::tensor, block.dst);
    write(Role::saved, task_.block);
  }

  void join_backward(const NetworkBlock& block) {
    read(Role::diff, block.dst);
    read_and_write(Role::diff, task_.tensor);
  }

  void backward_data(const NetworkBlock& block, const BackwardReads& reads) {
    if (block.joins()) return join_backward(block);
    read(Role::diff, block.dst);
    // A block in place only has this task: another one's forward has done its work.
    if (block.src != block.dst) read(Role::saved, task_.block);
    if (reads.src) read(Role::tensor, block.src);
    if (reads.dst) read(Role::tensor, block.dst);
    if (block.parameters > 0) read(Role::weights, home());
    if (block.src != 0) write(Role::diff, block.src);  // nobody waits for that of the input
    write(Role::pending, task_.block);
  }

  void backward_weights(const NetworkBlock& block, const BackwardReads& reads) {
    if (block.parameters == 0) return;
    read(Role::diff, block.dst);
    if (reads.src) read(Role::tensor, block.src);
    read(Role::pending, task_.block);
    read(Role::saved, task_.block);
    write(task_.accumulate ? Role::partial : Role::gradient, home());
    if (task_.accumulate) read_and_write(Role::gradient, home());  // <- gradient + partial
  }

  void reduce() {
    const Bucket& bucket = plan_.buckets.at(static_cast<std::size_t>(task_.bucket));
    // The update's own, and the exchange's.
    if (bucket.payload == Payload::optimizer || bucket.payload == Payload::outer) return;
    if (bucket.payload == Payload::weights) return exchange(bucket);
    const Role role = bucket.payload == Payload::gradient ? Role::gradient : Role::state;
    for (int block : bucket.blocks) {
      if (task_.kind != TaskKind::reduce_finish) read(role, block);
      if (task_.kind != TaskKind::reduce_start) write(role, block);
    }
  }

  void exchange(const Bucket& bucket) {
    for (int block : bucket.blocks) {
      for (const Role role : {Role::weights, Role::state}) {
        if (task_.kind != TaskKind::reduce_sum) read(role, block);
        if (task_.kind == TaskKind::reduce_finish) write(role, block);
      }
    }
  }

 private:
  int home() const { return plan_.network.home_of(task_.block); }
  int diff_of(int tensor) const { return plan_.network.diff_of(tensor); }

  void add(Role role, int index, bool writes) {
    if (role == Role::diff) index = diff_of(index);
    const Samples samples = is_permanent(role) ? Samples{} : task_.samples;
    out_.push_back({.value = {.role = role, .index = index, .samples = samples}, .writes = writes});
  }

  const Plan& plan_;
  const Task& task_;
  std::vector<Access>& out_;
};

}  // namespace

void accesses_into(const Plan& plan, const Task& task, const std::vector<BackwardReads>& reads,
                   std::vector<Access>& out) {
  out.clear();
  Collector collect(plan, task, out);
  const auto block = [&]() -> const NetworkBlock& {
    return plan.network.blocks.at(static_cast<std::size_t>(task.block));
  };
  const auto backward_reads = [&] {
    return reads.empty() ? BackwardReads{} : reads.at(static_cast<std::size_t>(task.block));
  };
  switch (task.kind) {
    case TaskKind::load:
      collect.write(Role::tensor, 0);
      collect.write(Role::targets, 0);
      break;
    case TaskKind::forward: collect.forward(block()); break;
    case TaskKind::loss:
      collect.read(Role::tensor, plan.network.logits());
      collect.read(Role::targets, 0);
      collect.write(Role::diff, plan.network.logits());
      break;
    case TaskKind::backward_data: collect.backward_data(block(), backward_reads()); break;
    case TaskKind::backward_weights: collect.backward_weights(block(), backward_reads()); break;
    case TaskKind::clip:
      break;  // reads the gradients of all blocks its program updates: the check knows
    case TaskKind::update:
      if (block().parameters == 0) break;
      collect.read(Role::gradient, task.block);
      collect.read_and_write(Role::weights, task.block);
      break;
    case TaskKind::send:
      collect.read(task.role, is_of_tensor(task.role) ? task.tensor : task.block);
      if (packs(task)) collect.write(Role::packed, packed_index(task));
      break;
    case TaskKind::receive:
      if (packs(task)) collect.write(Role::packed, packed_index(task));
      if (packs(task) && task.accumulate) collect.read(task.role, task.tensor);
      collect.write(task.role, is_of_tensor(task.role) ? task.tensor : task.block);
      break;
    case TaskKind::reduce_start:
    case TaskKind::reduce_sum:
    case TaskKind::reduce_finish: collect.reduce(); break;
  }
}

std::vector<Access> accesses(const Plan& plan, const Task& task,
                             const std::vector<BackwardReads>& reads) {
  std::vector<Access> out;
  accesses_into(plan, task, reads, out);
  return out;
}

}  // namespace plait
