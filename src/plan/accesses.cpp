// The accesses of every kind of task. A new kind of task is described here and nowhere else.
#include "plan/accesses.hpp"

namespace plait::plan {

namespace {

/// Collects the accesses of one task: call it with what the task does.
class Collector {
 public:
  Collector(const Plan& plan, const Traits& traits, std::vector<Access>& out)
      : plan_(plan), traits_(traits), out_(out) {}

  void operator()(const Load& load) {
    samples_ = load.samples;
    write(Role::tensor, 0);
    write(Role::targets, 0);
  }

  void operator()(const Forward& forward) {
    samples_ = forward.samples;
    const NetworkBlock& block = block_at(forward.block);
    for (const int tensor : block.srcs) read(Role::tensor, tensor);
    if (block.parameters > 0) read(Role::weights, owner(forward.block));
    if (block.state > 0 && forward.moves_state) read_and_write(Role::state, home(forward.block));
    write(Role::tensor, block.dst);
    write(Role::saved, forward.block);
  }

  void operator()(const Loss& loss) {
    samples_ = loss.samples;
    read(Role::tensor, plan_.network.logits());
    read(Role::targets, 0);
    write(Role::diff, plan_.network.logits());
  }

  void operator()(const BackwardData& backward) {
    samples_ = backward.samples;
    const NetworkBlock& block = block_at(backward.block);
    read(Role::diff, block.dst);
    // A block in place only has this task: another one's forward has done its work.
    if (!block.reads(block.dst)) read(Role::saved, backward.block);
    const graph::BlockTraits& traits = traits_of(backward.block);
    if (traits.data_reads_src) read_srcs(block, traits);
    if (traits.data_reads_dst) read(Role::tensor, block.dst);
    if (block.parameters > 0) read(Role::weights, owner(backward.block));
    for (const int tensor : block.srcs) {
      if (!plan_.network.has_gradient(tensor) || !backward.makes(tensor)) continue;
      if (plan_.network.adds_gradient(backward.block, tensor)) read(Role::diff, tensor);
      write(Role::diff, tensor);
    }
    if (backward.tensor < 0) write(Role::pending, backward.block);
  }

  void operator()(const BackwardWeights& backward) {
    samples_ = backward.samples;
    const NetworkBlock& block = block_at(backward.block);
    if (block.parameters == 0) return;
    read(Role::diff, block.dst);
    const graph::BlockTraits& traits = traits_of(backward.block);
    if (traits.weights_read_src) read_srcs(block, traits);
    if (traits.weights_read_pending) read(Role::pending, backward.block);
    read(Role::saved, backward.block);
    write(backward.adds ? Role::partial : Role::gradient, home(backward.block));
    if (backward.adds) read_and_write(Role::gradient, home(backward.block));  // + partial
  }

  void operator()(const AddGradient& add) {
    read(Role::gradient, add.block);
    read_and_write(Role::gradient, owner(add.block));
  }

  /// Reads the gradients of all blocks its program updates: the check knows.
  void operator()(const Clip&) {}

  void operator()(const Update& update) {
    if (block_at(update.block).parameters == 0) return;
    read(Role::gradient, update.block);
    read_and_write(Role::weights, update.block);
  }

  void operator()(const Send& send) {
    const Value& value = send.message.value;
    samples_ = value.samples;
    read(value.role, value.index);
    if (const auto packed = packed_value(send)) write(packed->role, packed->index);
  }

  void operator()(const Receive& receive) {
    const Value& value = receive.message.value;
    samples_ = value.samples;
    if (const auto packed = packed_value(receive)) {
      write(packed->role, packed->index);
      if (receive.adds) read(value.role, value.index);
    }
    write(value.role, value.index);
  }

  void operator()(const Reduce& reduce) {
    const Bucket& bucket = plan_.buckets.at(static_cast<std::size_t>(reduce.bucket));
    // The update's own, and the exchange's.
    if (bucket.payload == Payload::optimizer || bucket.payload == Payload::outer) return;
    if (bucket.payload == Payload::weights) return exchange(reduce.move, bucket);
    const Role role = bucket.payload == Payload::gradient ? Role::gradient : Role::state;
    for (int block : bucket.blocks) {
      if (reduce.move != Move::finish) read(role, block);
      if (reduce.move != Move::start) write(role, block);
    }
  }

 private:
  void exchange(Move move, const Bucket& bucket) {
    for (int block : bucket.blocks) {
      for (const Role role : {Role::weights, Role::state}) {
        if (move != Move::sum) read(role, block);
        if (move == Move::finish) write(role, block);
      }
    }
  }

  const NetworkBlock& block_at(int block) const {
    return plan_.network.blocks.at(static_cast<std::size_t>(block));
  }
  const graph::BlockTraits& traits_of(int block) const {
    return traits_.empty() ? block_at(block).traits : traits_.at(static_cast<std::size_t>(block));
  }
  int home(int block) const { return plan_.network.home_of(block); }
  int owner(int block) const { return plan_.network.owner_of(block); }

  void read(Role role, int index) { add(role, index, false); }
  void read_srcs(const NetworkBlock& block, const graph::BlockTraits& traits) {
    for (std::size_t k = 0; k < block.srcs.size(); ++k) {
      if (traits.reads_src(static_cast<int>(k))) read(Role::tensor, block.srcs[k]);
    }
  }
  void write(Role role, int index) { add(role, index, true); }
  void read_and_write(Role role, int index) {
    read(role, index);
    write(role, index);
  }
  void add(Role role, int index, bool writes) {
    const Samples samples = is_permanent(role) ? Samples{} : samples_;
    out_.push_back({.value = {.role = role, .index = index, .samples = samples}, .writes = writes});
  }

  const Plan& plan_;
  const Traits& traits_;
  std::vector<Access>& out_;
  Samples samples_{};
};

}  // namespace

void accesses_into(const Plan& plan, const Task& task, const Traits& traits,
                   std::vector<Access>& out) {
  out.clear();
  Collector collect(plan, traits, out);
  std::visit(collect, task.what);
}

std::vector<Access> accesses(const Plan& plan, const Task& task, const Traits& traits) {
  std::vector<Access> out;
  accesses_into(plan, task, traits, out);
  return out;
}

}  // namespace plait::plan
