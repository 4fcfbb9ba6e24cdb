// Average pooling: the sum under the window divided by its size (pool_divisor), padding counted as
// zeros. The global average pool is the same with a window as large as the image.
#include "kernels/reference/plain_layer.hpp"
#include "kernels/reference/pool_window.hpp"

namespace plait::kernels::reference {

namespace {

class AveragePool final : public PlainLayer {
 public:
  AveragePool(const LayerRequest& request, const ops::Pool& spec)
      : PlainLayer(request), spec_(spec) {}

  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    float* const y = args.dst.floats();
    std::vector<double> sum(static_cast<std::size_t>(dst_.shape.elements()));
    for_each_pair([&](std::size_t src, std::size_t dst) { sum[dst] += x[src]; });
    for (std::size_t i = 0; i < sum.size(); ++i) {
      y[i] = static_cast<float>(sum[i] / divisor(i));
    }
  }

  void backward_data(const LayerArgs& args) override {
    float* const dx = args.diff_src();
    const float* const g = args.diff_dst.floats();
    std::vector<double> sum(static_cast<std::size_t>(src_.shape.elements()));
    for_each_pair([&](std::size_t src, std::size_t dst) { sum[src] += g[dst] / divisor(dst); });
    for (std::size_t i = 0; i < sum.size(); ++i) dx[i] = static_cast<float>(sum[i]);
  }

 private:
  double divisor(std::size_t dst) const {
    const auto place = static_cast<std::int64_t>(dst) % (dst_.shape[2] * dst_.shape[3]);
    return pool_divisor(spec_, src_.shape, place / dst_.shape[3], place % dst_.shape[3]);
  }

  /// Every (source pixel, window that covers it), as offsets into the plain tensors.
  template <class Visit>
  void for_each_pair(Visit visit) const {
    std::size_t dst = 0;
    for (std::int64_t image = 0; image < dst_.shape[0] * dst_.shape[1]; ++image) {
      for (std::int64_t y = 0; y < dst_.shape[2]; ++y) {
        for (std::int64_t x = 0; x < dst_.shape[3]; ++x, ++dst) {
          const PoolWindow window = pool_window(spec_, src_.shape, y, x);
          for (std::int64_t h = window.top; h < window.bottom; ++h) {
            for (std::int64_t w = window.left; w < window.right; ++w) {
              const std::int64_t src = (image * src_.shape[2] + h) * src_.shape[3] + w;
              visit(static_cast<std::size_t>(src), dst);
            }
          }
        }
      }
    }
  }

  ops::Pool spec_;
};

}  // namespace

std::unique_ptr<Layer> make_average_pool(const LayerRequest& request) {
  return std::make_unique<AveragePool>(request, std::get<ops::Pool>(request.spec));
}

std::unique_ptr<Layer> make(const ops::GlobalAveragePool&, const LayerRequest& request) {
  const tensor::Shape& src = request.srcs.front().shape;
  if (src.rank() != 4) return std::make_unique<AveragePool>(request, ops::Pool{});  // it refuses
  const ops::Extent2 image{src[2], src[3]};
  return std::make_unique<AveragePool>(
      request, ops::Pool{.kind = ops::PoolKind::average, .kernel = image, .stride = image});
}

}  // namespace plait::kernels::reference
