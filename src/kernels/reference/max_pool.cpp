// Max pooling. Padding never wins; among equals the first in scan order does (as in PyTorch), and a
// NaN beats everything. `saved` holds the winner of each dst element as an i32 offset in its image.
#include <cmath>

#include "kernels/reference/plain_layer.hpp"
#include "kernels/reference/pool_window.hpp"

namespace plait::kernels::reference {

namespace {

class MaxPool final : public PlainLayer {
 public:
  explicit MaxPool(const LayerRequest& request)
      : PlainLayer(request), spec_(std::get<ops::Pool>(request.spec)) {}

  LayerTraits traits() const override { return {}; }

  std::size_t saved_bytes() const override {
    return static_cast<std::size_t>(dst_.shape.elements()) * sizeof(std::int32_t);
  }

  void forward(const LayerArgs& args) override {
    float* const dst = args.dst.floats();
    auto* winners = reinterpret_cast<std::int32_t*>(args.saved);
    std::int64_t i = 0;
    for (std::int64_t image = 0; image < dst_.shape[0] * dst_.shape[1]; ++image) {
      const float* src = args.src[0].floats() + image * src_pixels();
      for (std::int64_t y = 0; y < dst_.shape[2]; ++y) {
        for (std::int64_t x = 0; x < dst_.shape[3]; ++x, ++i) {
          const std::int64_t best = winner(src, pool_window(spec_, src_.shape, y, x));
          dst[i] = src[best];
          if (args.training) winners[i] = static_cast<std::int32_t>(best);
        }
      }
    }
  }

  void backward_data(const LayerArgs& args) override {
    float* const dx = args.diff_src();
    const float* const g = args.diff_dst.floats();
    const auto* winners = reinterpret_cast<const std::int32_t*>(args.saved);
    std::vector<double> sum(static_cast<std::size_t>(src_.shape.elements()));
    const std::int64_t dst_pixels = dst_.shape[2] * dst_.shape[3];
    for (std::int64_t i = 0; i < dst_.shape.elements(); ++i) {
      sum[static_cast<std::size_t>(i / dst_pixels * src_pixels() + winners[i])] += g[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) dx[i] = static_cast<float>(sum[i]);
  }

 private:
  std::int64_t src_pixels() const { return src_.shape[2] * src_.shape[3]; }

  std::int64_t winner(const float* src, PoolWindow window) const {
    std::int64_t best = window.top * src_.shape[3] + window.left;
    for (std::int64_t y = window.top; y < window.bottom; ++y) {
      for (std::int64_t x = window.left; x < window.right; ++x) {
        const std::int64_t at = y * src_.shape[3] + x;
        if (src[at] > src[best] || std::isnan(src[at])) best = at;
      }
    }
    return best;
  }

  ops::Pool spec_;
};

}  // namespace

std::unique_ptr<Layer> make_max_pool(const LayerRequest& request) {
  return std::make_unique<MaxPool>(request);
}

}  // namespace plait::kernels::reference
