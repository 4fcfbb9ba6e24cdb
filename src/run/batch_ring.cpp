// How many minibatches a program has in flight, and the parts of them that its tasks see.
#include "run/batch_ring.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "plan/accesses.hpp"

namespace plait::run {

namespace {

/// The range of samples that all load tasks of a program bring together.
plan::Samples share_of(const plan::Program& program) {
  plan::Samples share{0, 0, 0};
  for (const plan::Task& task : program.tasks) {
    const auto* load = std::get_if<plan::Load>(&task.what);
    if (load == nullptr) continue;
    if (share.of == 0) share = load->samples;
    if (share.of != load->samples.of)
      fail("load tasks of one program cut the minibatch differently");
    share.begin = std::min(share.begin, load->samples.begin);
    share.end = std::max(share.end, load->samples.end);
  }
  return share.of == 0 ? plan::Samples{0, 0, 1} : share;
}

/// Minibatches of which something loaded may still be used when the next one is loaded.
std::size_t batches_in_flight(const plan::Plan& plan, const plan::Program& program) {
  using Place = std::pair<int, std::size_t>;  // offset, position
  std::optional<Place> first;
  Place last{0, 0};
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const plan::Task& task = program.tasks[i];
    const auto list = plan::accesses(plan, task);
    const bool uses = std::ranges::any_of(list, [](const plan::Access& access) {
      return access.value.role == plan::Role::targets ||
             (access.value.role == plan::Role::tensor && access.value.index == 0);
    });
    if (!uses) continue;
    const Place here{task.when.offset, i};
    if (plan::is<plan::Load>(task) && (!first || here < *first)) first = here;
    last = std::max(last, here);
  }
  if (!first) return 1;
  const int steps = last.first - first->first + (last.second > first->second ? 1 : 0);
  return static_cast<std::size_t>(std::max(1, steps));
}

}  // namespace

BatchRing::BatchRing(const plan::Plan& plan, int worker,
                     std::function<void(data::Batch&)> next_batch)
    : next_batch_(std::move(next_batch)) {
  const plan::Program& program = plan.programs[static_cast<std::size_t>(worker)];
  share_ = share_of(program);
  read_in_place_ = std::ranges::count_if(program.tasks, plan::is<plan::Load>) <= 1;
  batches_.resize(batches_in_flight(plan, program));
}

void BatchRing::fetch(std::int64_t minibatch, std::int64_t samples) {
  data::Batch& batch = batches_[static_cast<std::size_t>(minibatch) % batches_.size()];
  next_batch_(batch);
  newest_ = minibatch;
  if (batch.size() != share_.count(samples)) {
    fail("{} samples came where the plan has {}", batch.size(), share_.count(samples));
  }
}

std::span<const std::byte> BatchRing::part(const tensor::Tensor& tensor,
                                           const plan::Samples& samples, std::int64_t whole) const {
  const std::span<const std::byte> all(tensor.data(), tensor.bytes());
  const auto each = all.size() / static_cast<std::size_t>(share_.count(whole));
  const auto first = static_cast<std::size_t>(samples.first(whole) - share_.first(whole));
  return all.subspan(first * each, static_cast<std::size_t>(samples.count(whole)) * each);
}

std::span<const std::byte> BatchRing::images(std::int64_t minibatch, const plan::Samples& samples,
                                             std::int64_t whole) const {
  return part(at(minibatch).images, samples, whole);
}

std::span<const float> BatchRing::targets(std::int64_t minibatch, const plan::Samples& samples,
                                          std::int64_t whole) const {
  const std::span<const std::byte> bytes = part(at(minibatch).targets, samples, whole);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace plait::run
