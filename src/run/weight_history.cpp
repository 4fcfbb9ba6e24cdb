// Old versions kept whole, or rebuilt and predicted from an average of updates.
#include "run/weight_history.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plait::run {

WeightHistory::WeightHistory(const plan::Plan& plan, int worker, ParameterStore& store)
    : store_(store), how_(plan.old_weights), blocks_(store.size()) {
  const std::vector<int> kept = plan::weight_versions(plan, worker);
  const std::vector<int> delay = plan::staleness(plan);
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    Versions& of = blocks_[i];
    of.kept =
        how_ == plan::OldWeights::predicted && kept[i] > 0 ? 1 + delay[i] : std::max(1, kept[i]);
    if (of.kept == 1) continue;
    const tensor::Shape shape{static_cast<std::int64_t>(store.block(i).weights.floats().size())};
    largest = std::max(largest, shape[0]);
    switch (how_) {
      case plan::OldWeights::stash:
        for (int k = 1; k < of.kept; ++k) of.older.emplace_back(shape);
        break;
      case plan::OldWeights::rebuilt:
      case plan::OldWeights::predicted:
        of.average = tensor::Tensor(shape);
        of.spare = tensor::Tensor(shape);
        break;
    }
  }
  if (how_ != plan::OldWeights::stash && largest > 0)
    rebuilt_ = tensor::Tensor(tensor::Shape{largest});
}

void WeightHistory::begin(std::int64_t first) {
  first_ = first;
  for (Versions& of : blocks_) {
    of.newest = first - 1;
    if (!of.average.empty()) std::ranges::fill(of.average.floats(), 0.0F);
  }
}

const float* WeightHistory::read(std::size_t block, std::int64_t minibatch, int delay) {
  Versions& of = blocks_[block];
  const float* newest = store_.block(block).weights.floats().data();
  if (how_ == plan::OldWeights::predicted) return predict(of, newest, minibatch - 1 - of.newest);
  const std::int64_t wanted = std::max(first_, minibatch - delay) - 1;
  if (wanted == of.newest) return newest;
  if (wanted > of.newest || of.newest - wanted >= of.kept) {
    fail("version {} of the weights of block {} is wanted, {} to {} are there", wanted, block,
         of.newest - of.kept + 1, of.newest);
  }
  if (how_ == plan::OldWeights::stash) {
    return of.place(wanted).floats().data();
  }
  const std::size_t size = store_.block(block).weights.floats().size();
  float* const result = rebuilt_.floats().data();
  const auto updates = static_cast<float>(of.newest - wanted);
  const float* const average = of.average.floats().data();
  for (std::size_t i = 0; i < size; ++i) result[i] = newest[i] - updates * average[i];
  return result;
}

const float* WeightHistory::predict(const Versions& of, const float* newest, std::int64_t missing) {
  if (missing <= 0 || of.average.empty()) return newest;
  const std::span<const float> average = of.average.floats();
  float* const result = rebuilt_.floats().data();
  const auto updates = static_cast<float>(missing);
  for (std::size_t i = 0; i < average.size(); ++i) result[i] = newest[i] + updates * average[i];
  return result;
}

std::span<float> WeightHistory::next(std::size_t block) {
  Versions& of = blocks_[block];
  if (of.kept == 1) return store_.block(block).weights.floats();
  return how_ == plan::OldWeights::stash ? of.place(of.newest).floats() : of.spare.floats();
}

void WeightHistory::made(std::size_t block) {
  Versions& of = blocks_[block];
  tensor::Tensor& stored = store_.block(block).weights;
  if (of.kept > 1) {
    // The new version takes the store's place; what was there is the one before it.
    tensor::Tensor& other = how_ == plan::OldWeights::stash ? of.place(of.newest) : of.spare;
    std::swap(stored, other);
    if (how_ != plan::OldWeights::stash) note_average(of, other.floats(), stored.floats());
  }
  ++of.newest;
}

/// average <- average + (update - average) / min(updates so far, kept - 1)
void WeightHistory::note_average(Versions& of, std::span<const float> before,
                                 std::span<const float> after) const {
  const std::int64_t seen = of.newest + 2 - first_;
  const float share = 1.0F / static_cast<float>(std::clamp<std::int64_t>(seen, 1, of.kept - 1));
  const std::span<float> average = of.average.floats();
  for (std::size_t i = 0; i < average.size(); ++i) {
    average[i] += ((after[i] - before[i]) - average[i]) * share;
  }
}

std::size_t WeightHistory::bytes() const {
  std::size_t total = rebuilt_.bytes();
  for (const Versions& of : blocks_) {
    for (const tensor::Tensor& tensor : of.older) total += tensor.bytes();
    total += of.average.bytes() + of.spare.bytes();
  }
  return total;
}

}  // namespace plait::run
