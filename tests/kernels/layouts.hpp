// Layouts by index arithmetic: tensors between plain order and the one they lie in.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/tensor.hpp"

namespace plait::kernels::layer_testing {

using Floats = std::vector<float>;

inline std::size_t count(const tensor::Shape& shape) {
  return static_cast<std::size_t>(shape.elements());
}

/// Where plain element `i` of a tensor lies in memory.
inline std::size_t physical_offset(const tensor::TensorDesc& desc, std::size_t i) {
  if (desc.layout == tensor::Layout::plain) return i;
  const auto channels = static_cast<std::size_t>(desc.shape[1]);
  if (desc.layout == tensor::Layout::panels) {
    const auto width = static_cast<std::size_t>(tensor::panel_width(desc.shape[0]));
    const std::size_t n = i / channels;
    return (n / width * channels + i % channels) * width + n % width;
  }
  const auto pixels = static_cast<std::size_t>(desc.shape[2] * desc.shape[3]);
  const std::size_t pixel = i % pixels;
  const std::size_t c = i / pixels % channels;
  const std::size_t n = i / pixels / channels;
  const std::size_t block = desc.layout == tensor::Layout::blocked8 ? 8 : 16;
  const std::size_t blocks = (channels + block - 1) / block;
  return ((n * blocks + c / block) * pixels + pixel) * block + c % block;
}

/// Padding is zero, but that of panels is anything finite in activations.
enum class Padding { zero, activation };

inline bool is_free(const tensor::TensorDesc& desc, Padding padding) {
  return desc.layout == tensor::Layout::panels && padding == Padding::activation;
}

/// Also expects the padding to be what it must be.
inline Floats to_plain(const tensor::TensorDesc& desc, const float* physical,
                       Padding padding = Padding::zero) {
  Floats rest(physical, physical + desc.physical_elements());
  Floats plain(count(desc.shape));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::size_t at = physical_offset(desc, i);
    plain[i] = physical[at];
    rest[at] = 0;
  }
  const bool free = is_free(desc, padding);
  EXPECT_TRUE(std::ranges::all_of(rest, [&](float x) { return free ? std::isfinite(x) : x == 0; }))
      << "padding of " << desc.shape.to_string() << (free ? " is not finite" : " is not zero");
  return plain;
}

inline Floats to_physical(const tensor::TensorDesc& desc, const Floats& plain,
                          Padding padding = Padding::zero) {
  Floats physical(static_cast<std::size_t>(desc.physical_elements()),
                  is_free(desc, padding) ? 3.0F : 0.0F);
  for (std::size_t i = 0; i < plain.size(); ++i) physical[physical_offset(desc, i)] = plain[i];
  return physical;
}

}  // namespace plait::kernels::layer_testing
