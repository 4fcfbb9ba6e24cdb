// Panels: activations of sparse layers with the samples innermost, [panels][features][width]
// floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::kernels::sparse {

/// How `samples` samples lie. The last panels may end in padding: samples that nobody asked for,
/// any finite values in activations, zeros in gradients.
struct Panels {
  std::int64_t samples = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;  ///< a multiple of 16, at most 64

  /// Of a tensor with so many features, padding included.
  std::int64_t floats(std::int64_t features) const { return count * features * width; }
  bool operator==(const Panels&) const = default;
};

/// As tensor/tensor.hpp cuts them: as few as possible, all equally wide.
Panels panels_for(std::int64_t samples);

/// panels <- plain [samples][features], padding zero. Panels are aligned to 64 bytes, here and
/// below.
void to_panels(const Panels& panels, std::int64_t features, const float* plain, float* dst,
               int threads);
/// plain [samples][features] <- panels.
void from_panels(const Panels& panels, std::int64_t features, const float* src, float* plain,
                 int threads);

}  // namespace plait::kernels::sparse
