// The order of an epoch's samples (a shuffle by seed and epoch, kept for the last epoch asked for)
// and the copy of samples into a batch.
#include "data/batch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "data/parallel.hpp"

namespace plait::data {

namespace {

void shape_to(tensor::Tensor& tensor, tensor::Shape shape,
              tensor::DType dtype = tensor::DType::f32) {
  tensor::TensorDesc desc{.shape = std::move(shape), .dtype = dtype};
  if (tensor.empty() || !(tensor.desc() == desc)) tensor = tensor::Tensor(std::move(desc));
}

}  // namespace

SampleMemory::SampleMemory(const Dataset& dataset, std::int64_t count)
    : images(dataset.sample_shape().with_front(count), dataset.sample_type()),
      targets(dataset.target_shape().with_front(count)) {}

Sample SampleMemory::sample_at(tensor::Tensor& images, tensor::Tensor& targets, std::int64_t n) {
  const auto at = static_cast<std::size_t>(n);
  const auto part = [&](auto all, const tensor::Tensor& of) {
    const std::size_t each = all.size() / static_cast<std::size_t>(of.shape()[0]);
    return all.subspan(at * each, each);
  };
  Sample sample{.image = {}, .target = part(targets.floats(), targets)};
  if (images.desc().dtype == tensor::DType::i32) {
    sample.ids = part(images.as<std::int32_t>(), images);
  } else {
    sample.image = part(images.floats(), images);
  }
  return sample;
}

BatchStream::BatchStream(DatasetPtr dataset, BatchOptions options)
    : dataset_(std::move(dataset)), options_(options) {
  const std::int64_t size = dataset_->size();
  if (options_.batch < 1) user_error("batch {}: must be at least 1", options_.batch);
  const BatchOptions::Part& part = options_.part;
  if (part.begin < 0 || part.end < part.begin || part.parts < std::max(part.end, 1)) {
    fail("no part {}..{} of {} of a batch", part.begin, part.end, part.parts);
  }
  if (size < 1) user_error("the dataset has no samples");
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    user_error("{} samples; at most 2^32 - 1 can be shuffled", size);
  }
  batches_ = size / options_.batch;
  if (!options_.drop_last && size % options_.batch != 0) ++batches_;
  if (batches_ == 0) {
    user_error("batch {} is larger than the {} samples available; use a smaller batch",
               options_.batch, size);
  }
}

std::vector<std::uint32_t> BatchStream::order(std::uint64_t epoch) const {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(dataset_->size()));
  std::iota(order.begin(), order.end(), 0U);
  if (!options_.shuffle) return order;
  Rng rng(options_.seed, Purpose::shuffle, epoch);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[rng.below(static_cast<std::uint32_t>(left))]);
  }
  return order;
}

BatchStream::Order BatchStream::cached_order(std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (!cached_ || cached_epoch_ != epoch) {
    cached_ = std::make_shared<const std::vector<std::uint32_t>>(order(epoch));
    cached_epoch_ = epoch;
  }
  return cached_;
}

std::int64_t BatchStream::samples_per_epoch() const {
  return std::min(dataset_->size(), batches_ * options_.batch);
}

std::int64_t BatchStream::batch_size(std::int64_t index) const {
  return std::min(options_.batch, dataset_->size() - index * options_.batch);
}

Batch BatchStream::load(std::uint64_t epoch, std::int64_t index) const {
  Batch batch;
  load_into(epoch, index, batch);
  return batch;
}

void BatchStream::load_into(std::uint64_t epoch, std::int64_t index, Batch& batch) const {
  if (index < 0 || index >= batches_) fail("no batch {} among {} per epoch", index, batches_);
  const std::int64_t whole = batch_size(index);
  const BatchOptions::Part& part = options_.part;
  const std::int64_t begin = whole * part.begin / part.parts;
  const std::int64_t count = whole * part.end / part.parts - begin;
  const std::int64_t first = index * options_.batch + begin;
  if (count == 0) {
    batch = {.images = {}, .targets = {}, .epoch = epoch, .index = index};
    return;
  }
  shape_to(batch.images, dataset_->sample_shape().with_front(count), dataset_->sample_type());
  shape_to(batch.targets, dataset_->target_shape().with_front(count));
  batch.epoch = epoch;
  batch.index = index;

  const Order order = options_.shuffle ? cached_order(epoch) : nullptr;
  for_each_on(dataset_->is_slow() ? options_.threads : 1, count, [&](std::int64_t i) {
    const std::int64_t sample =
        order ? std::int64_t{(*order)[static_cast<std::size_t>(first + i)]} : first + i;
    dataset_->get(sample, epoch, SampleMemory::sample_at(batch.images, batch.targets, i));
  });
}

}  // namespace plait::data
