// Gathers and scatters rows of plain and panel layouts.
#include "run/row_packing.hpp"

#include <algorithm>

namespace plait::run {

namespace {

/// Both layouts are [count][features][width].
struct Lie {
  std::int64_t count = 0;
  std::int64_t features = 0;
  std::int64_t width = 0;

  explicit Lie(const tensor::TensorDesc& desc) : features(desc.shape.elements() / desc.shape[0]) {
    const bool panels = desc.layout == tensor::Layout::panels;
    count = panels ? tensor::panel_count(desc.shape[0]) : desc.shape[0];
    width = panels ? tensor::panel_width(desc.shape[0]) : 1;
  }
};

}  // namespace

void pack_rows(const tensor::TensorDesc& desc, const float* tensor,
               std::span<const std::int32_t> rows, float* packed) {
  const Lie lie(desc);
  for (std::int64_t c = 0; c < lie.count; ++c) {
    const float* from = tensor + c * lie.features * lie.width;
    for (const std::int32_t row : rows) {
      packed = std::copy_n(from + row * lie.width, lie.width, packed);
    }
  }
}

void unpack_rows(const tensor::TensorDesc& desc, const float* packed,
                 std::span<const std::int32_t> rows, bool add, float* tensor) {
  const Lie lie(desc);
  if (!add) std::fill_n(tensor, lie.count * lie.features * lie.width, 0.0F);
  for (std::int64_t c = 0; c < lie.count; ++c) {
    float* to = tensor + c * lie.features * lie.width;
    for (const std::int32_t row : rows) {
      float* at = to + row * lie.width;
      for (std::int64_t i = 0; i < lie.width; ++i) at[i] += packed[i];
      packed += lie.width;
    }
  }
}

}  // namespace plait::run
