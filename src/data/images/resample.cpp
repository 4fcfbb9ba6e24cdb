// Two passes, along rows and along columns, each with a triangle filter as wide as the scale.
#include "data/images/resample.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace plait::data {

namespace {

/// What one pixel of the result is made of: pixels from `first` on with these weights, sum 1.
struct Filter {
  int first = 0;
  std::vector<float> weights{};
};

std::vector<Filter> filters(double begin, double length, int from, int to) {
  std::vector<Filter> all(static_cast<std::size_t>(to));
  const double scale = length / to;
  const double support = std::max(scale, 1.0);
  for (int i = 0; i < to; ++i) {
    const double center = begin + (i + 0.5) * scale;
    const int first = std::clamp(static_cast<int>(std::floor(center - support)), 0, from - 1);
    const int last = std::clamp(static_cast<int>(std::ceil(center + support)), first + 1, from);
    Filter& filter = all[static_cast<std::size_t>(i)];
    filter.first = first;
    double sum = 0;
    std::vector<double> weights;
    for (int x = first; x < last; ++x) {
      weights.push_back(std::max(0.0, 1.0 - std::abs(x + 0.5 - center) / support));
      sum += weights.back();
    }
    for (const double weight : weights) filter.weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

/// Nothing to compute: pixels are copied.
bool is_window(const Box& box, ImageSize size) {
  return box.height == size.height && box.width == size.width && box.top == std::floor(box.top) &&
         box.left == std::floor(box.left);
}

void copy_window(const Pixels& image, const Box& box, ImageSize size, std::uint8_t* out) {
  const int top = static_cast<int>(box.top);
  const int left = static_cast<int>(box.left);
  for (int c = 0; c < image.channels; ++c) {
    for (int y = 0; y < size.height; ++y) {
      const std::uint8_t* src = image.row(top + y) + left * image.channels + c;
      for (int x = 0; x < size.width; ++x) *out++ = src[x * image.channels];
    }
  }
}

}  // namespace

Box middle_box(const Pixels& image, ImageSize size, int shorter) {
  const double margin =
      shorter > 0 ? static_cast<double>(shorter) / std::min(size.height, size.width) : 1.0;
  const double scale = std::min(static_cast<double>(image.height) / size.height,
                                static_cast<double>(image.width) / size.width) /
                       margin;
  Box box{.height = size.height * scale, .width = size.width * scale};
  box.top = (image.height - box.height) / 2;
  box.left = (image.width - box.width) / 2;
  if (scale == 1) {  // whole pixels stay whole
    box.top = std::floor(box.top);
    box.left = std::floor(box.left);
  }
  return box;
}

Box random_box(const Pixels& image, double least, Rng& rng) {
  const double area = static_cast<double>(image.height) * image.width;
  const double widest = std::log(4.0 / 3.0);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double part = area * (least + (1 - least) * static_cast<double>(rng.uniform()));
    const double ratio = std::exp(widest * (2 * static_cast<double>(rng.uniform()) - 1));
    const double width = std::round(std::sqrt(part * ratio));
    const double height = std::round(std::sqrt(part / ratio));
    if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
    const auto rows = static_cast<std::uint32_t>(image.height - static_cast<int>(height) + 1);
    const auto columns = static_cast<std::uint32_t>(image.width - static_cast<int>(width) + 1);
    const double top = rng.below(rows);
    return {.top = top,
            .left = static_cast<double>(rng.below(columns)),
            .height = height,
            .width = width};
  }
  const int side = std::min(image.height, image.width);
  return middle_box(image, {side, side}, 0);
}

void resample(const Pixels& image, const Box& box, ImageSize size, std::span<std::uint8_t> out) {
  if (is_window(box, size)) return copy_window(image, box, size, out.data());
  const std::vector<Filter> columns = filters(box.left, box.width, image.width, size.width);
  const std::vector<Filter> rows = filters(box.top, box.height, image.height, size.height);
  const int top = rows.front().first;
  const int bottom = rows.back().first + static_cast<int>(rows.back().weights.size());
  const auto width = static_cast<std::size_t>(size.width);
  std::vector<float> narrow(static_cast<std::size_t>(bottom - top) * width);
  std::vector<float> sums(width);
  std::uint8_t* dst = out.data();
  for (int c = 0; c < image.channels; ++c) {
    float* at = narrow.data();
    for (int y = top; y < bottom; ++y) {
      const std::uint8_t* src = image.row(y) + c;
      for (const Filter& filter : columns) {
        float sum = 0;
        const std::uint8_t* pixel = src + filter.first * image.channels;
        for (const float weight : filter.weights) {
          sum += weight * static_cast<float>(*pixel);
          pixel += image.channels;
        }
        *at++ = sum;
      }
    }
    for (const Filter& filter : rows) {
      std::ranges::fill(sums, 0.0F);
      const float* src = narrow.data() + static_cast<std::size_t>(filter.first - top) * width;
      for (const float weight : filter.weights) {
        for (std::size_t x = 0; x < width; ++x) sums[x] += weight * src[x];
        src += width;
      }
      for (const float sum : sums) {
        *dst++ = static_cast<std::uint8_t>(std::clamp(std::round(sum), 0.0F, 255.0F));
      }
    }
  }
}

}  // namespace plait::data
