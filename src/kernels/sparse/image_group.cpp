// Loads images into panels, finds those that are all zero, and packs the others closer together.
#include "kernels/sparse/image_group.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace plait::kernels::sparse {

namespace {

constexpr std::int64_t kNone = -1;
constexpr std::size_t kMaxWidth = 64;
/// Rows between looks whether all images are known to live, which most panels know early.
constexpr std::int64_t kRows = 64;

using Bits = std::array<std::uint32_t, kMaxWidth>;

void collect_bits(const float* values, std::int64_t rows, std::int64_t width, Bits& bits) {
  const auto samples = static_cast<std::size_t>(width);
  for (std::int64_t row = 0; row < rows; ++row, values += width) {
    for (std::size_t i = 0; i < samples; ++i) bits[i] |= std::bit_cast<std::uint32_t>(values[i]);
  }
}

/// Without the sign: -0 is 0.
bool is_alive(std::uint32_t bits) { return bits << 1 != 0; }

}  // namespace

ImageGroup::ImageGroup(const GroupSize& size)
    : width_(size.width),
      values_(size.shape()),
      image_(static_cast<std::size_t>(size.samples()), kNone) {}

Panels ImageGroup::panels() const {
  const auto last = std::find_if(image_.rbegin(), image_.rend(), [](auto i) { return i != kNone; });
  const std::int64_t count = (image_.rend() - last + width_ - 1) / width_;
  return {.samples = count * width_, .count = count, .width = width_};
}

void ImageGroup::load(const tensor::SparsePattern& images, std::int64_t first, std::int64_t last,
                      const std::vector<std::int32_t>& place) {
  std::ranges::fill(image_, kNone);
  images_ = last - first;
  for (std::int64_t i = 0; i < images_; ++i) image(i) = first + i;
  std::fill_n(values(), panels().floats(images.columns), 0.0F);
  for (std::int64_t i = 0; i < images_; ++i) {
    float* sample = values() + i / width_ * width_ * images.columns + i % width_;
    for (const std::int32_t pixel : images.row(first + i)) {
      sample[place[static_cast<std::size_t>(pixel)] * width_] = 1;
    }
  }
}

void ImageGroup::drop_dead(std::int64_t features) {
  const std::int64_t count = panels().count;
  for (std::int64_t panel = 0; panel < count; ++panel) drop_dead_of_panel(panel, features);
}

void ImageGroup::drop_dead_of_panel(std::int64_t panel, std::int64_t features) {
  Bits bits;
  bits.fill(2);
  const auto samples = std::span(bits).first(static_cast<std::size_t>(width_));
  const auto images = std::span(image_).subspan(static_cast<std::size_t>(panel * width_));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = images[i] == kNone ? 2 : 0;
  const float* from = values() + panel * width_ * features;
  for (std::int64_t row = 0; row < features; row += kRows) {
    if (std::ranges::all_of(samples, is_alive)) return;
    collect_bits(from + row * width_, std::min(kRows, features - row), width_, bits);
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (is_alive(samples[i])) continue;
    images[i] = kNone;
    --images_;
  }
}

void ImageGroup::take(ImageGroup& from, std::int64_t features) {
  Moves moves;
  std::int64_t to = 0;
  for (std::int64_t i = 0; i < std::ssize(from.image_); ++i) {
    if (from.is_free(i)) continue;
    while (to < std::ssize(image_) && !is_free(to)) ++to;
    if (to == std::ssize(image_)) break;
    moves.emplace_back(i, to++);
  }
  move(from, features, moves);
}

void ImageGroup::pack(std::int64_t features) {
  Moves moves;
  std::int64_t to = 0;
  for (std::int64_t i = std::ssize(image_) - 1; i > to; --i) {
    if (is_free(i)) continue;
    while (to < i && !is_free(to)) ++to;
    if (to < i) moves.emplace_back(i, to++);
  }
  move(*this, features, moves);
}

void ImageGroup::move(ImageGroup& from, std::int64_t features, const Moves& moves) {
  for (const auto& [i, to] : moves) image(to) = std::exchange(from.image(i), kNone);
  images_ += std::ssize(moves);
  from.images_ -= std::ssize(moves);
  const auto offset = [&](std::int64_t sample) {
    return sample / width_ * width_ * features + sample % width_;
  };
  for (const auto& [i, to] : moves) {
    const float* source = from.values() + offset(i);
    float* target = values() + offset(to);
    for (std::int64_t row = 0; row < features; ++row) target[row * width_] = source[row * width_];
  }
}

void ImageGroup::give_up(std::vector<std::int64_t>& list) {
  std::ranges::copy_if(image_, std::back_inserter(list),
                       [](std::int64_t image) { return image != kNone; });
  std::ranges::fill(image_, kNone);
  images_ = 0;
}

}  // namespace plait::kernels::sparse
