// Binds tasks to memory and runs them; records events and waits.
#include "run/worker.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "run/message_tags.hpp"

namespace plait {

namespace {

/// Shorter waits are part of the task they belong to.
constexpr double kShortestWait = 1e-6;

/// The range of samples that all load tasks of a program bring together.
Samples share_of(const Program& program) {
  Samples share{0, 0, 0};
  for (const Task& task : program.tasks) {
    const auto* load = std::get_if<Load>(&task.what);
    if (load == nullptr) continue;
    if (share.of == 0) share = load->samples;
    if (share.of != load->samples.of)
      fail("load tasks of one program cut the minibatch differently");
    share.begin = std::min(share.begin, load->samples.begin);
    share.end = std::max(share.end, load->samples.end);
  }
  return share.of == 0 ? Samples{0, 0, 1} : share;
}

}  // namespace

std::vector<BlockNeeds> block_needs(const Plan& plan, int worker) {
  const bool collects = worker == 0;
  std::vector<BlockNeeds> needs(plan.network.blocks.size(), {collects, false, collects});
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (block_of(task) < 0) continue;
    BlockNeeds& need = needs[static_cast<std::size_t>(plan.network.home_of(block_of(task)))];
    need.weights = true;
    const bool updates = is<Update>(task);
    need.optimizer = need.optimizer || updates;
    need.gradient = need.gradient || updates || is<BackwardWeights>(task);
  }
  return needs;
}

namespace {

/// Minibatches of which something loaded may still be used when the next one is loaded.
int batches_in_flight(const Plan& plan, const Program& program) {
  using Place = std::pair<int, std::size_t>;  // offset, position
  std::optional<Place> first;
  Place last{0, 0};
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    const auto list = accesses(plan, task);
    const bool uses = std::ranges::any_of(list, [](const Access& access) {
      return access.value.role == Role::targets ||
             (access.value.role == Role::tensor && access.value.index == 0);
    });
    if (!uses) continue;
    const Place here{task.when.offset, i};
    if (is<Load>(task) && (!first || here < *first)) first = here;
    last = std::max(last, here);
  }
  if (!first) return 1;
  return std::max(1, last.first - first->first + (last.second > first->second ? 1 : 0));
}

std::vector<int> blocks_of(const Program& program) {
  std::vector<int> blocks;
  for (const Task& task : program.tasks) {
    if (block_of(task) >= 0) blocks.push_back(block_of(task));
  }
  return blocks;
}

template <class Kind>
int count_of(const Program& program) {
  return static_cast<int>(std::ranges::count_if(program.tasks, is<Kind>));
}

}  // namespace

Worker::Worker(const Plan& plan, const WorkerOptions& options, WorkerLinks links)
    : plan_(plan),
      program_(plan.programs[static_cast<std::size_t>(options.rank)]),
      options_(options),
      links_(std::move(links)),
      optimizer_(make_optimizer(options.optimizer)),
      chains_(plan, {.worker = options.rank,
                     .threads = options.threads,
                     .backend = options.backend,
                     .tail = options.tail}),
      parameters_(chains_.home(), options.seed,
                  optimizer_->state_count() + (has_outer_optimizer(plan) ? 1 : 0),
                  block_needs(plan, options.rank)),
      history_(plan, options.rank, parameters_),
      share_(share_of(program_)),
      averaged_(program_.averages),
      loads_directly_(count_of<Load>(program_) <= 1),
      receives_(program_.tasks.size()),
      overlaps_(plan.depth() > 0),
      weight_sends_(plan.network.blocks.size()),
      loss_tasks_(count_of<Loss>(program_)),
      residuals_(plan.network.blocks.size()),
      trace_begin_(now_seconds()) {
  const auto loaded = [&](const Value& value) {
    return value.role == Role::targets ||
           (loads_directly_ && value.role == Role::tensor && value.index == 0);
  };
  map_ = map_memory(
      plan, options.rank,
      [&](const Value& value) { return loaded(value) ? 0 : chains_.bytes_of(value); },
      chains_.backward_reads());
  scratch_bytes_ = chains_.scratch_bytes(blocks_of(program_));
  memory_ = allocate_bytes(map_.bytes + scratch_bytes_ + 64);
  clear_new({memory_.get(), map_.bytes});
  scratch_ = memory_.get() + (map_.bytes + 63) / 64 * 64;
  for (const Slot& slot : map_.slots) {
    std::vector<std::shared_ptr<std::byte>>& copies = places_.emplace_back();
    for (int copy = 0; copy < slot.copies; ++copy) {
      std::byte* at = memory_.get() + slot.offset + static_cast<std::size_t>(copy) * slot.bytes;
      copies.emplace_back(memory_, at);
    }
  }
  batches_.resize(static_cast<std::size_t>(batches_in_flight(plan, program_)));
  const std::vector<int> tags = message_tags(plan, options.rank);
  for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
    bound_.push_back(bind(program_.tasks[i]));
    bound_.back().tag = kTagsPerBucket * static_cast<int>(plan.buckets.size()) + tags[i];
  }
  for (const std::vector<int>& members : plan.groups) {
    const bool in = std::ranges::find(members, options.rank) != members.end();
    auto group = links_.group.split(in ? 1 : 0, options.rank);
    groups_.push_back(in ? std::move(group) : nullptr);
  }
  reductions_.resize(plan.buckets.size());
  make_exchanges();
  for (const int delay : staleness(plan)) {
    rate_scale_.push_back(std::pow(1.0 + delay, -options.stale_lr));
  }
  for (std::size_t i = 0; i < chains_.home().size(); ++i) {
    decay_.push_back(decay_ranges(chains_.home().block(i), options.decay_matrices));
  }
  before_ = traffic();
}

std::size_t Worker::memory_bytes() const {
  return map_.bytes + chains_.scratch_bytes(blocks_of(program_)) + parameters_.bytes() +
         history_.bytes() + most_exchanged_bytes_;
}

Traffic Worker::traffic() const {
  Traffic sum = links_.group.traffic();
  for (const auto& group : groups_) {
    if (!group) continue;
    const Traffic one = group->traffic();
    sum.bytes += one.bytes;
    sum.messages += one.messages;
  }
  return {sum.bytes - before_.bytes, sum.messages - before_.messages};
}

int Worker::slot_of(Value value) const {
  if (value.role == Role::diff) value.index = plan_.network.diff_of(value.index);
  return map_.find(value);
}

Worker::Bound Worker::bind(const Task& task) const {
  if (message_of(task) != nullptr) return bind_message(task);
  const Samples samples = samples_of(task);
  Bound bound;
  if (block_of(task) >= 0) bind_block(task, bound);
  if (is<Loss>(task)) {
    bound.dst = slot_of({Role::tensor, plan_.network.logits(), samples});
    bound.diff_dst = slot_of({Role::diff, plan_.network.logits(), samples});
  }
  if (is<Load>(task)) bound.dst = slot_of({Role::tensor, 0, samples});
  return bound;
}

Worker::Bound Worker::bind_message(const Task& task) const {
  const Value& value = message_of(task)->value;
  Bound bound;
  if (const std::optional<Value> packed = packed_value(task)) {
    bound.message = slot_of(*packed);
    bound.rows = slot_of(value);
  } else if (!is_permanent(value.role)) {
    bound.message = slot_of(value);
  }
  return bound;
}

void Worker::bind_block(const Task& task, Bound& bound) const {
  const int index = block_of(task);
  const NetworkBlock& block = plan_.network.blocks[static_cast<std::size_t>(index)];
  const auto slot = [&](Role role, int of) { return slot_of({role, of, samples_of(task)}); };
  bound.src = slot(Role::tensor, block.src);
  bound.dst = slot(Role::tensor, block.dst);
  bound.diff_src = slot(Role::diff, block.src);
  bound.diff_dst = slot(Role::diff, block.dst);
  bound.saved = slot(Role::saved, index);
  bound.pending = slot(Role::pending, index);
  const auto* weights = std::get_if<BackwardWeights>(&task.what);
  if (weights != nullptr && weights->adds) {
    bound.partial = slot(Role::partial, plan_.network.home_of(index));
  }
  if (!block.joins()) return;
  bound.other = slot(Role::tensor, block.other);
  const auto* data = std::get_if<BackwardData>(&task.what);
  if (data != nullptr) bound.diff_src = slot(Role::diff, data->tensor);
}

std::byte* Worker::memory(int slot, std::int64_t minibatch) const {
  if (slot < 0) return nullptr;
  const Slot& found = map_.slots[static_cast<std::size_t>(slot)];
  const auto copy = static_cast<std::size_t>(minibatch % found.copies);
  return places_[static_cast<std::size_t>(slot)][copy].get();
}

float* Worker::floats(int slot, std::int64_t minibatch) const {
  return reinterpret_cast<float*>(memory(slot, minibatch));
}

void Worker::play(std::int64_t step, const MinibatchRange& range) {
  if (range_begin_ != range.first) {
    history_.begin(range.first);
    range_begin_ = range.first;
    for (const std::unique_ptr<Exchange>& exchange : exchanges_) {
      if (exchange) exchange->all_are_equal();
    }
  }
  ++plays_;
  post_receives(step, range);
  for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
    const Task& task = program_.tasks[i];
    if (runs(task.when, step, range)) perform(moment_of(i, step));
  }
}

Worker::Moment Worker::moment_of(std::size_t task, std::int64_t step) const {
  const std::int64_t minibatch = program_.tasks[task].when.minibatch_at(step);
  const std::int64_t whole = links_.minibatch(minibatch).samples;
  return {.task = task,
          .minibatch = minibatch,
          .step = step,
          .whole = whole,
          .samples = samples_of(program_.tasks[task]).count(whole)};
}

void Worker::perform(const Moment& at) {
  const Task& task = task_of(at);
  links_.status.begin_task(static_cast<std::int64_t>(at.task), at.minibatch, at.step);
  try {
    if (links_.hook) links_.hook(options_.rank, task, at.minibatch);
    if (poisons_) poison_results(at);
    std::visit(overloaded{[&](const Load&) { load(at); }, [&](const Forward&) { forward(at); },
                          [&](const Loss&) { compute_loss_of(at); },
                          [&](const BackwardData&) { backward_data(at); },
                          [&](const BackwardWeights&) { backward_weights(at); },
                          [&](const Clip&) { clip(at); }, [&](const Update&) { update(at); },
                          [&](const Send&) { send(at); }, [&](const Receive&) { receive(at); },
                          [&](const Reduce&) { reduce(at); }},
               task.what);
  } catch (const UserError&) {
    throw;
  } catch (const Aborted&) {
    throw;
  } catch (const NonFiniteLoss&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail("worker {} failed in {} (minibatch {}, step {}): {}", options_.rank, describe(plan_, task),
         at.minibatch + 1, at.step + 1, error.what());
  }
}

void Worker::compute_event(const Moment& at, double begin) {
  links_.trace.add({.task = static_cast<std::int32_t>(at.task),
                    .activity = Activity::compute,
                    .minibatch = at.minibatch,
                    .step = at.step,
                    .begin = begin - trace_begin_,
                    .end = now_seconds() - trace_begin_,
                    .bytes = 0,
                    .play = plays_});
}

void Worker::waiting(const Moment& at, const std::function<void()>& body) {
  links_.status.set(WorkerState::waiting);
  const double begin = now_seconds();
  body();
  const double end = now_seconds();
  links_.status.set(WorkerState::working);
  if (end - begin > kShortestWait) {
    links_.trace.add({.task = static_cast<std::int32_t>(at.task),
                      .activity = Activity::wait,
                      .minibatch = at.minibatch,
                      .step = at.step,
                      .begin = begin - trace_begin_,
                      .end = end - trace_begin_,
                      .bytes = 0,
                      .play = plays_});
  }
}

std::vector<MinibatchLoss> Worker::take_losses() {
  std::vector<MinibatchLoss> complete;
  while (!losses_.empty() && losses_.front().tasks == loss_tasks_) {
    complete.push_back(losses_.front().loss);
    losses_.erase(losses_.begin());
  }
  return complete;
}

}  // namespace plait
