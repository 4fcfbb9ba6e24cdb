// Copies of the weights sent, the reduction of them, and each rule of merging.
#include "run/exchange.hpp"

#include <algorithm>

#include "transport/bf16.hpp"

namespace plait::run {

namespace {

transport::IndexRange part_range(std::size_t count, int part, int parts) {
  return transport::shard_of(count, parts, part);
}

tensor::Tensor array_of(std::size_t count) {
  return tensor::Tensor(tensor::Shape{static_cast<std::int64_t>(count)});
}

}  // namespace

Exchange::Exchange(const plan::Bucket& bucket, ExchangeValues values, transport::Group& group,
                   int tag)
    : bucket_(bucket),
      values_(std::move(values.values)),
      momentum_(std::move(values.momentum)),
      learns_(std::move(values.learns)),
      range_(part_range(values_.size(), bucket.part, bucket.parts)),
      group_(group),
      tag_(tag) {
  if (remembers()) common_ = array_of(range_.size());
  if (bucket_.half) missed_ = array_of(range_.size());
  all_are_equal();
}

void Exchange::all_are_equal() {
  if (remembers()) values_.read(range_, common_.floats().data());
  if (bucket_.half) std::ranges::fill(missed_.floats(), 0.0F);
}

void Exchange::start() {
  tensor::Tensor own = array_of(range_.size());
  tensor::Tensor sum = array_of(range_.size());
  values_.read(range_, own.floats().data());
  const std::span<const float> x = own.floats();
  const std::span<float> sent = sum.floats();
  if (bucket_.half) {
    const std::span<const float> common = common_.floats();
    const std::span<float> missed = missed_.floats();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float wanted = x[i] - common[i] + missed[i];
      sent[i] = transport::from_bf16(transport::to_bf16(wanted));
      missed[i] = wanted - sent[i];
    }
  } else if (bucket_.merge.kind == plan::MergeKind::gather) {
    const transport::IndexRange mine = part_range(x.size(), group_.rank(), group_.size());
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(mine.begin), mine.size(),
                sent.begin() + static_cast<std::ptrdiff_t>(mine.begin));
  } else {
    std::ranges::copy(x, sent.begin());
  }
  const transport::Wire wire = bucket_.half ? transport::Wire::bf16 : transport::Wire::f32;
  transport::Reduction reduction(group_, {sum.floats()}, wire,
                                 tag_ + static_cast<int>(started_++ % 2));
  flights_.push_back({std::move(own), std::move(sum), std::move(reduction)});
  flights_.back().reduction.start();
}

void Exchange::finish() {
  Flight& flight = flights_.front();
  flight.reduction.finish();
  merge(flight);
  waited_ += flight.reduction.waited();
  under_way_ += flight.reduction.under_way();
  ++ended_;
  flights_.pop_front();
  --summed_;
}

double Exchange::waited() const {
  double seconds = waited_;
  for (const Flight& flight : flights_) seconds += flight.reduction.waited();
  return seconds;
}

void Exchange::merge(const Flight& flight) {
  const std::size_t count = range_.size();
  std::vector<float> x(count);
  values_.read(range_, x.data());
  const auto members = static_cast<float>(group_.size());
  const std::span<const float> sum = flight.sum.floats();
  const std::span<const float> own = flight.own.floats();
  const auto total = [&](std::size_t i) {
    return bucket_.half ? members * common_.floats()[i] + sum[i] : sum[i];
  };
  const auto mean = [&](std::size_t i) {
    return bucket_.half ? common_.floats()[i] + sum[i] / members : sum[i] / members;
  };
  switch (bucket_.merge.kind) {
    case plan::MergeKind::average:
      for (std::size_t i = 0; i < count; ++i) x[i] = mean(i);
      break;
    case plan::MergeKind::weighted: {
      const auto twice = static_cast<float>(2 * bucket_.merge.steps);
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = (twice * x[i] + total(i)) / (twice + members);
      }
      break;
    }
    case plan::MergeKind::corrected:
      for (std::size_t i = 0; i < count; ++i) x[i] += mean(i) - own[i];
      break;
    case plan::MergeKind::outer: {
      const auto rate = static_cast<float>(bucket_.merge.rate);
      const auto momentum = static_cast<float>(bucket_.merge.momentum);
      std::vector<float> velocity(count);
      momentum_.read(range_, velocity.data());
      for (std::size_t i = 0; i < count; ++i) {
        if (learns_[range_.begin + i] == 0) {
          x[i] = mean(i);
          continue;
        }
        const float gradient = common_.floats()[i] - mean(i);
        velocity[i] = momentum * velocity[i] + gradient;
        x[i] = common_.floats()[i] - rate * (gradient + momentum * velocity[i]);
      }
      momentum_.write(range_, velocity.data());
      break;
    }
    case plan::MergeKind::gather: std::ranges::copy(sum, x.begin()); break;
  }
  values_.write(range_, x.data());
  const bool equal = bucket_.merge.kind == plan::MergeKind::average ||
                     bucket_.merge.kind == plan::MergeKind::outer;
  if (equal && remembers()) std::ranges::copy(x, common_.floats().begin());
}

std::size_t Exchange::bytes() const {
  std::size_t total = 0;
  for (const tensor::Tensor* tensor : {&common_, &missed_})
    total += tensor->empty() ? 0 : tensor->bytes();
  for (const Flight& flight : flights_) total += 2 * flight.own.bytes();
  return total;
}

}  // namespace plait::run
