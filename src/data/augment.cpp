// Random crop with padding, and horizontal flip.
#include "data/augment.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "data/ids.hpp"

namespace plait::data {

namespace {

// Each decorator draws from a stream of its own: else crop and flip of a sample would go together.
constexpr std::uint64_t kCropSalt = 0x63726F70;
constexpr std::uint64_t kFlipSalt = 0x666C6970;

void require_images(const Dataset& dataset, const char* what) {
  if (holds_ids(dataset)) {
    user_error("augmentation {} needs images, but the samples are token ids; use none", what);
  }
  if (dataset.sample_shape().rank() != 3) {
    user_error(
        "augmentation {} needs images (channels x height x width), the samples have shape {}", what,
        dataset.sample_shape());
  }
}

}  // namespace

void shift_plane(Plane plane, std::int64_t dy, std::int64_t dx) {
  const std::int64_t height = plane.height;
  const std::int64_t width = plane.width;
  const std::int64_t begin = std::clamp<std::int64_t>(-dx, 0, width);
  const std::int64_t end = std::clamp<std::int64_t>(width - dx, 0, width);
  for (std::int64_t i = 0; i < height; ++i) {
    // In the direction in which no row is overwritten before it is read.
    const std::int64_t y = dy >= 0 ? i : height - 1 - i;
    float* dst = plane.data + y * width;
    if (y + dy < 0 || y + dy >= height || begin >= end) {
      std::fill_n(dst, width, 0.0F);
      continue;
    }
    const float* src = plane.data + (y + dy) * width;
    std::memmove(dst + begin, src + begin + dx,
                 static_cast<std::size_t>(end - begin) * sizeof(float));
    std::fill(dst, dst + begin, 0.0F);
    std::fill(dst + end, dst + width, 0.0F);
  }
}

PadCrop::PadCrop(DatasetPtr inner, std::int64_t pad, std::uint64_t seed)
    : Decorator(std::move(inner)), pad_(pad), seed_(seed ^ kCropSalt) {
  require_images(*this, "pad-crop");
  if (labels_pixels(*this)) {
    user_error("augmentation pad-crop does not move the labels of pixels; use flip or none");
  }
  const std::int64_t side = std::min(sample_shape()[1], sample_shape()[2]);
  if (pad < 1 || pad >= side) {
    user_error("augmentation pad-crop {}: the padding must be 1 to {} for images of {}", pad,
               side - 1, sample_shape());
  }
}

void PadCrop::get(std::int64_t index, std::uint64_t epoch, Sample out) const {
  inner().get(index, epoch, out);
  Rng rng(seed_, Purpose::augment, epoch, static_cast<std::uint64_t>(index));
  const auto choices = static_cast<std::uint32_t>(2 * pad_ + 1);
  const std::int64_t dy = std::int64_t{rng.below(choices)} - pad_;
  const std::int64_t dx = std::int64_t{rng.below(choices)} - pad_;
  const tensor::Shape& shape = sample_shape();
  for (std::int64_t c = 0; c < shape[0]; ++c) {
    shift_plane({out.image.data() + c * shape[1] * shape[2], shape[1], shape[2]}, dy, dx);
  }
}

Flip::Flip(DatasetPtr inner, std::uint64_t seed)
    : Decorator(std::move(inner)), seed_(seed ^ kFlipSalt) {
  require_images(*this, "flip");
}

void Flip::get(std::int64_t index, std::uint64_t epoch, Sample out) const {
  inner().get(index, epoch, out);
  if (Rng(seed_, Purpose::augment, epoch, static_cast<std::uint64_t>(index)).below(2) == 0) return;
  const auto width = static_cast<std::size_t>(sample_shape()[2]);
  const auto mirror = [&](std::span<float> rows) {
    for (std::size_t at = 0; at < rows.size(); at += width) {
      std::reverse(rows.data() + at, rows.data() + at + width);
    }
  };
  mirror(out.image);
  if (labels_pixels(*this)) mirror(out.target);
}

}  // namespace plait::data
