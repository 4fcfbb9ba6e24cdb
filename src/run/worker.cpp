#include "run/worker.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "optim/clip.hpp"
#include "run/message_tags.hpp"

namespace plait {

namespace {

/// Shorter waits are part of the task they belong to.
constexpr double kShortestWait = 1e-6;

/// The range of samples that all load tasks of a program bring together.
Samples share_of(const Program& program) {
  Samples share{0, 0, 0};
  for (const Task& task : program.tasks) {
    if (task.kind != TaskKind::load) continue;
    if (share.of == 0) share = task.samples;
    if (share.of != task.samples.of)
      fail("load tasks of one program cut the minibatch differently");
    share.begin = std::min(share.begin, task.samples.begin);
    share.end = std::max(share.end, task.samples.end);
  }
  return share.of == 0 ? Samples{0, 0, 1} : share;
}

}  // namespace

std::vector<BlockNeeds> block_needs(const Plan& plan, int worker) {
  const bool collects = worker == 0;
  std::vector<BlockNeeds> needs(plan.network.blocks.size(), {collects, false, collects});
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (task.block < 0) continue;
    BlockNeeds& need = needs[static_cast<std::size_t>(task.block)];
    need.weights = true;
    const bool updates = task.kind == TaskKind::update;
    need.optimizer = need.optimizer || updates;
    need.gradient = need.gradient || updates || task.kind == TaskKind::backward_weights;
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
    const Place here{task.offset, i};
    if (task.kind == TaskKind::load && (!first || here < *first)) first = here;
    last = std::max(last, here);
  }
  if (!first) return 1;
  return std::max(1, last.first - first->first + (last.second > first->second ? 1 : 0));
}

std::vector<int> blocks_of(const Program& program) {
  std::vector<int> blocks;
  for (const Task& task : program.tasks) {
    if (task.block >= 0) blocks.push_back(task.block);
  }
  return blocks;
}

int count_of(const Program& program, TaskKind kind) {
  return static_cast<int>(std::ranges::count(program.tasks, kind, &Task::kind));
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
      parameters_(chains_.home(), options.seed, optimizer_->state_count(),
                  block_needs(plan, options.rank)),
      history_(plan, options.rank, parameters_),
      share_(share_of(program_)),
      loads_directly_(count_of(program_, TaskKind::load) <= 1),
      receives_(program_.tasks.size()),
      overlaps_(plan.depth() > 0),
      weight_sends_(plan.network.blocks.size()),
      loss_tasks_(count_of(program_, TaskKind::loss)),
      trace_begin_(now_seconds()) {
  const auto loaded = [&](const Value& value) {
    return value.role == Role::targets ||
           (loads_directly_ && value.role == Role::tensor && value.index == 0);
  };
  map_ = map_memory(
      plan, options.rank,
      [&](const Value& value) { return loaded(value) ? 0 : chains_.bytes_of(value); },
      chains_.backward_reads());
  memory_ = allocate_bytes(map_.bytes + chains_.scratch_bytes(blocks_of(program_)) + 64);
  std::memset(memory_.get(), 0, map_.bytes);
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
    bound_.back().tag = static_cast<int>(plan.buckets.size()) + tags[i];
  }
  for (const std::vector<int>& members : plan.groups) {
    const bool in = std::ranges::find(members, options.rank) != members.end();
    auto group = links_.group.split(in ? 1 : 0, options.rank);
    groups_.push_back(in ? std::move(group) : nullptr);
  }
  reductions_.resize(plan.buckets.size());
  for (const int delay : staleness(plan)) {
    rate_scale_.push_back(std::pow(1.0 + delay, -options.stale_lr));
  }
  before_ = traffic();
}

std::size_t Worker::memory_bytes() const {
  return map_.bytes + parameters_.bytes() + history_.bytes();
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

Worker::Bound Worker::bind(const Task& task) const {
  const auto slot = [&](Role role, int index) { return map_.find({role, index, task.samples}); };
  Bound bound;
  if (task.kind == TaskKind::send || task.kind == TaskKind::receive) {
    const int index = is_of_tensor(task.role) ? task.tensor : task.block;
    if (packs(task)) {
      bound.message = slot(Role::packed, packed_index(task));
      bound.rows = slot(task.role, index);
    } else if (!is_permanent(task.role)) {
      bound.message = slot(task.role, index);
    }
    return bound;
  }
  if (task.block >= 0) {
    const NetworkBlock& block = plan_.network.blocks[static_cast<std::size_t>(task.block)];
    bound.src = slot(Role::tensor, block.src);
    bound.dst = slot(Role::tensor, block.dst);
    bound.diff_src = slot(Role::diff, block.src);
    bound.diff_dst = slot(Role::diff, block.dst);
    bound.saved = slot(Role::saved, task.block);
    bound.pending = slot(Role::pending, task.block);
    bound.partial = task.accumulate ? slot(Role::partial, task.block) : -1;
  }
  if (task.kind == TaskKind::loss) {
    bound.dst = slot(Role::tensor, plan_.network.logits());
    bound.diff_dst = slot(Role::diff, plan_.network.logits());
  }
  if (task.kind == TaskKind::load) bound.dst = slot(Role::tensor, 0);
  return bound;
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
  }
  post_receives(step, range);
  for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
    const Task& task = program_.tasks[i];
    const std::int64_t minibatch = step - task.offset;
    if (minibatch < range.first || minibatch >= range.last || !task.runs_at(step)) continue;
    const std::int64_t whole = links_.minibatch(minibatch).samples;
    perform({.task = i,
             .minibatch = minibatch,
             .step = step,
             .whole = whole,
             .samples = task.samples.count(whole)});
  }
}

void Worker::perform(const Moment& at) {
  const Task& task = task_of(at);
  links_.status.begin_task(static_cast<std::int64_t>(at.task), at.minibatch, at.step);
  try {
    if (links_.hook) links_.hook(options_.rank, task, at.minibatch);
    switch (task.kind) {
      case TaskKind::load: load(at); break;
      case TaskKind::forward: forward(at); break;
      case TaskKind::loss: compute_loss_of(at); break;
      case TaskKind::backward_data: backward_data(at); break;
      case TaskKind::backward_weights: backward_weights(at); break;
      case TaskKind::clip: clip(at); break;
      case TaskKind::update: update(at); break;
      case TaskKind::send: send(at); break;
      case TaskKind::receive: receive(at); break;
      case TaskKind::reduce_start:
      case TaskKind::reduce_sum:
      case TaskKind::reduce_finish: reduce(at); break;
    }
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
                    .bytes = 0});
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
                      .bytes = 0});
  }
}

void Worker::load(const Moment& at) {
  Batch& batch = batches_[static_cast<std::size_t>(at.minibatch) % batches_.size()];
  if (newest_batch_ < at.minibatch) {
    waiting(at, [&] { links_.next_batch(batch); });
    newest_batch_ = at.minibatch;
    if (batch.size() != share_.count(at.whole)) {
      fail("{} samples came where the plan has {}", batch.size(), share_.count(at.whole));
    }
  }
  if (loads_directly_ || at.samples == 0) return;
  const auto sample = static_cast<std::size_t>(plan_.network.tensors.front());
  const auto first =
      static_cast<std::size_t>(task_of(at).samples.first(at.whole) - share_.first(at.whole));
  const auto images =
      batch.images.floats().subspan(first * sample, static_cast<std::size_t>(at.samples) * sample);
  std::ranges::copy(images, floats(bound_[at.task].dst, at.minibatch));
}

const float* Worker::input(const Moment& at) const {
  if (!loads_directly_) return nullptr;
  return batches_[static_cast<std::size_t>(at.minibatch) % batches_.size()].images.floats().data();
}

BlockArgs Worker::block_args(const Moment& at, BlockMemory& parameters) const {
  const Bound& bound = bound_[at.task];
  const Task& task = task_of(at);
  const NetworkBlock& block = plan_.network.blocks[static_cast<std::size_t>(task.block)];
  const float* loaded = block.src == 0 ? input(at) : nullptr;
  return {.src = loaded != nullptr ? loaded : floats(bound.src, at.minibatch),
          .dst = floats(bound.dst, at.minibatch),
          .diff_dst = floats(bound.diff_dst, at.minibatch),
          .diff_src = block.src == 0 ? nullptr : floats(bound.diff_src, at.minibatch),
          .weights = parameters.weights.floats().data(),
          .diff_weights = parameters.gradient.floats().data(),
          .state = parameters.state.floats().data(),
          .saved = memory(bound.saved, at.minibatch),
          .pending = memory(bound.pending, at.minibatch),
          .scratch = scratch_,
          .training = true,
          .randomness = {.seed = options_.seed,
                         .step = static_cast<std::uint64_t>(at.minibatch),
                         .first_sample = task.samples.first(at.whole)}};
}

BlockArgs Worker::args_with_weights(const Moment& at) {
  const Task& task = task_of(at);
  const auto index = static_cast<std::size_t>(task.block);
  BlockMemory& home = parameters_.block(index);
  const bool trained = plan_.network.blocks[index].parameters > 0;
  const float* weights = trained ? history_.read(index, at.minibatch, task.delay) : nullptr;
  LayoutBridge* bridge = chains_.bridge(at.samples);
  if (bridge != nullptr && !bridge->same(index)) {
    bridge->fetch(index, weights, home.state.floats().data());
    return block_args(at, bridge->memory(index));
  }
  BlockArgs args = block_args(at, home);
  args.weights = weights;
  return args;
}

void Worker::forward(const Moment& at) {
  if (at.samples == 0) return;
  const double begin = now_seconds();
  const Task& task = task_of(at);
  const auto index = static_cast<std::size_t>(task.block);
  free_for_writing(at, bound_[at.task].dst);
  free_for_writing(at, bound_[at.task].saved);
  BlockArgs args = args_with_weights(at);
  if (task.accumulate) args.state = nullptr;  // running statistics move once per minibatch
  chains_.at(at.samples).block(index).forward(args);
  LayoutBridge* bridge = chains_.bridge(at.samples);
  if (bridge != nullptr && !bridge->same(index) && !task.accumulate) {
    bridge->return_state(index, parameters_.block(index));
  }
  compute_event(at, begin);
}

void Worker::compute_loss_of(const Moment& at) {
  auto open = std::ranges::find(losses_, at.minibatch,
                                [](const OpenLoss& one) { return one.loss.minibatch; });
  if (open == losses_.end()) open = losses_.insert(open, {{at.minibatch, {}}, 0});
  ++open->tasks;
  if (at.samples == 0) return;
  const double begin = now_seconds();
  const Chain& chain = chains_.at(at.samples);
  const Bound& bound = bound_[at.task];
  const Batch& batch = batches_[static_cast<std::size_t>(at.minibatch) % batches_.size()];
  const std::size_t target = batch.targets.floats().size() / static_cast<std::size_t>(batch.size());
  const auto first =
      static_cast<std::size_t>(task_of(at).samples.first(at.whole) - share_.first(at.whole));
  const auto count = static_cast<std::size_t>(chain.dst_desc().physical_elements());
  free_for_writing(at, bound.diff_dst);
  const LossResult result =
      compute_loss(options_.loss,
                   {.logits = {floats(bound.dst, at.minibatch), count},
                    .targets = batch.targets.floats().subspan(
                        first * target, static_cast<std::size_t>(at.samples) * target),
                    .classes = chain.dst_desc().shape[1],
                    .scale = 1.0 / static_cast<double>(at.whole)},
                   {floats(bound.diff_dst, at.minibatch), count});
  open->loss.loss.sum += result.sum;
  open->loss.loss.correct += result.correct;
  compute_event(at, begin);
  if (!std::isfinite(result.sum)) {
    throw NonFiniteLoss(at.minibatch, result.sum, first_non_finite_block(at));
  }
}

void Worker::backward_data(const Moment& at) {
  if (at.samples == 0) return;
  const double begin = now_seconds();
  const auto index = static_cast<std::size_t>(task_of(at).block);
  free_for_writing(at, bound_[at.task].diff_src);
  free_for_writing(at, bound_[at.task].pending);
  chains_.at(at.samples).block(index).backward_data(args_with_weights(at));
  compute_event(at, begin);
}

void Worker::backward_weights(const Moment& at) {
  const auto index = static_cast<std::size_t>(task_of(at).block);
  const bool accumulate = task_of(at).accumulate;
  const std::span<float> gradient = parameters_.block(index).gradient.floats();
  if (at.samples == 0) {
    if (!accumulate) std::ranges::fill(gradient, 0.0F);
    return;
  }
  const double begin = now_seconds();
  LayoutBridge* bridge = chains_.bridge(at.samples);
  const bool bridged = bridge != nullptr && !bridge->same(index);
  BlockArgs args = block_args(at, bridged ? bridge->memory(index) : parameters_.block(index));
  float* partial = accumulate ? floats(bound_[at.task].partial, at.minibatch) : nullptr;
  if (!bridged && accumulate) args.diff_weights = partial;
  chains_.at(at.samples).block(index).backward_weights(args);
  if (bridged) {
    bridge->return_gradient(index, accumulate ? std::span(partial, gradient.size()) : gradient);
  }
  if (accumulate) {
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += partial[i];
  }
  compute_event(at, begin);
}

void Worker::clip(const Moment& at) {
  const double begin = now_seconds();
  std::vector<std::span<const float>> gradients;
  for (const Task& task : program_.tasks) {
    if (task.kind != TaskKind::update) continue;
    gradients.emplace_back(
        parameters_.block(static_cast<std::size_t>(task.block)).gradient.floats());
  }
  gradient_scale_ = static_cast<float>(
      clip_factor(gradient_norm(gradients, options_.threads), options_.clip_norm));
  compute_event(at, begin);
}

void Worker::update(const Moment& at) {
  const double begin = now_seconds();
  const auto index = static_cast<std::size_t>(task_of(at).block);
  BlockMemory& block = parameters_.block(index);
  for (Request& request : weight_sends_[index]) request.wait();
  weight_sends_[index].clear();
  UpdateArgs args{
      .weights = block.weights.floats(),
      .result = history_.next(index),
      .gradient = block.gradient.floats(),
      .state = {},
      .learning_rate = links_.minibatch(at.minibatch).learning_rate * rate_scale_[index],
      .weight_decay = options_.weight_decay,
      .gradient_scale = gradient_scale_,
      .step = at.minibatch + 1,
      .threads = options_.threads};
  for (int k = 0; k < optimizer_->state_count(); ++k) {
    args.state[static_cast<std::size_t>(k)] = block.optimizer[static_cast<std::size_t>(k)].floats();
  }
  optimizer_->update(args);
  history_.made(index);
  compute_event(at, begin);
}

std::vector<MinibatchLoss> Worker::take_losses() {
  std::vector<MinibatchLoss> complete;
  while (!losses_.empty() && losses_.front().tasks == loss_tasks_) {
    complete.push_back(losses_.front().loss);
    losses_.erase(losses_.begin());
  }
  return complete;
}

/// Plays the forward tasks of the moment's samples once more and looks at each result.
std::string Worker::first_non_finite_block(const Moment& at) {
  for (std::size_t i = 0; i < at.task; ++i) {
    const Task& task = program_.tasks[i];
    if (task.kind != TaskKind::forward || task.samples != task_of(at).samples) continue;
    const Moment again{i, at.minibatch, at.step, at.whole, at.samples};
    const auto index = static_cast<std::size_t>(task.block);
    BlockArgs args = args_with_weights(again);
    args.state = nullptr;
    Block& block = chains_.at(at.samples).block(index);
    block.forward(args);
    const std::span<const float> dst(
        args.dst, static_cast<std::size_t>(block.dst_desc().physical_elements()));
    if (!std::ranges::all_of(dst, [](float x) { return std::isfinite(x); })) return block.name();
  }
  return "";
}

}  // namespace plait
