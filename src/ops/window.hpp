// Sliding windows: how many fit, and what operations with windows demand of their input.
#pragma once

#include <string>
#include <string_view>

#include "ops/extent.hpp"
#include "tensor/shape.hpp"

namespace plait::ops {

/// Output extent of a sliding window, floor mode.
std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding);
/// The same where the last window may reach beyond the padding, if it starts inside the image or
/// the padding before it.
std::int64_t window_count_ceil(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                               std::int64_t padding);

/// UserError unless it is CxHxW.
void require_image(const tensor::Shape& src, std::string_view kind, const std::string& where);
/// UserError unless it is flat.
void require_features(const tensor::Shape& src, std::string_view kind, const std::string& where);

/// UserError for more than kMaxWindow: keeps the arithmetic of shapes within 64 bits.
void check_window(Extent2 extent, std::string_view what, const std::string& where);
/// The same for more than kMaxChannels.
void check_channels(std::int64_t number, const std::string& where);

/// "3x3".
std::string text_of(Extent2 extent);

}  // namespace plait::ops
