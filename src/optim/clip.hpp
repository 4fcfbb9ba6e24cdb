// Clipping by the global gradient norm, as torch.nn.utils.clip_grad_norm_ does it. The factor goes
// into UpdateArgs::gradient_scale, so that clipping costs no pass of its own over the gradients.
#pragma once

#include <cmath>
#include <span>

namespace plait::optim {

/// Over all spans, in double. The bits do not depend on `threads`.
double sum_of_squares(std::span<const std::span<const float>> gradients, int threads = 1);

inline double gradient_norm(std::span<const std::span<const float>> gradients, int threads = 1) {
  return std::sqrt(sum_of_squares(gradients, threads));
}

/// min(1, max_norm / (norm + 1e-6)); NaN when the norm is. The norm is sqrt(sum_of_squares), the
/// sum taken over all workers that hold a part.
double clip_factor(double norm, double max_norm);

}  // namespace plait::optim
