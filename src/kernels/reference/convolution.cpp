// Convolution (really correlation, as everywhere in deep learning), NCHW, weights OIHW per group:
//   dst[n,o,y,x] = bias[o] + sum_{i,ky,kx} weight[o,i,ky,kx] src[n,i',y*s+ky*d-p,x*s+kx*d-p]
// where i' is input i of o's group and src is 0 outside the image; then + src[1] if residual.
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Convolution final : public PlainLayer {
 public:
  explicit Convolution(const LayerRequest& request)
      : PlainLayer(request),
        spec_(std::get<ops::Convolution>(request.spec)),
        residual_(request.residual) {}

  LayerTraits traits() const override { return {.weights_reads_src = true}; }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    const float* const x1 = residual_ ? args.src[1].floats() : nullptr;
    float* const y = args.dst.floats();
    std::vector<double> sum(elements(dst_));
    for_each_product([&](Product at) {
      sum[at.dst] += static_cast<double>(args.weights[at.weight]) * x[at.src];
    });
    const std::size_t plane = static_cast<std::size_t>(dst_.shape[2] * dst_.shape[3]);
    const std::size_t channels = static_cast<std::size_t>(dst_.shape[1]);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double value = sum[i];
      if (spec_.bias) value += args.weights[bias_offset() + i / plane % channels];
      if (residual_) value += x1[i];
      y[i] = static_cast<float>(value);
    }
  }

  void backward_data(const LayerArgs& args) override {
    float* const dx = args.diff_src();
    const float* const g = args.diff_dst.floats();
    std::vector<double> sum(elements(src_));
    for_each_product([&](Product at) {
      sum[at.src] += static_cast<double>(args.weights[at.weight]) * g[at.dst];
    });
    for (std::size_t i = 0; i < sum.size(); ++i) dx[i] = static_cast<float>(sum[i]);
  }

  void backward_weights(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    const float* const g = args.diff_dst.floats();
    std::vector<double> sum(static_cast<std::size_t>(slots_[0].physical_size));
    for_each_product(
        [&](Product at) { sum[at.weight] += static_cast<double>(x[at.src]) * g[at.dst]; });
    for (std::size_t i = 0; i < sum.size(); ++i) args.diff_weights[i] = static_cast<float>(sum[i]);
    if (spec_.bias) bias_gradient(args);
  }

 private:
  /// One multiplication of the formula on top, as offsets into the plain tensors.
  struct Product {
    std::size_t src;
    std::size_t weight;
    std::size_t dst;
  };

  static std::size_t elements(const tensor::TensorDesc& desc) {
    return static_cast<std::size_t>(desc.shape.elements());
  }
  std::size_t bias_offset() const { return static_cast<std::size_t>(slots_[1].offset); }

  void bias_gradient(const LayerArgs& args) const {
    const float* const g = args.diff_dst.floats();
    const std::size_t plane = static_cast<std::size_t>(dst_.shape[2] * dst_.shape[3]);
    const std::size_t channels = static_cast<std::size_t>(dst_.shape[1]);
    std::vector<double> sum(channels);
    for (std::size_t i = 0; i < elements(dst_); ++i) sum[i / plane % channels] += g[i];
    for (std::size_t o = 0; o < channels; ++o) {
      args.diff_weights[bias_offset() + o] = static_cast<float>(sum[o]);
    }
  }

  /// All three tasks are sums over the same products; only what is multiplied differs.
  template <class Visit>
  void for_each_product(Visit visit) const {
    const std::int64_t dst_channels = dst_.shape[1];
    for (std::int64_t n = 0; n < dst_.shape[0]; ++n) {
      for (std::int64_t o = 0; o < dst_channels; ++o) {
        for (std::int64_t y = 0; y < dst_.shape[2]; ++y) {
          for (std::int64_t x = 0; x < dst_.shape[3]; ++x) {
            const std::int64_t dst =
                ((n * dst_channels + o) * dst_.shape[2] + y) * dst_.shape[3] + x;
            for_each_tap({n, o, y, x}, static_cast<std::size_t>(dst), visit);
          }
        }
      }
    }
  }

  struct Position {
    std::int64_t n, o, y, x;
  };

  template <class Visit>
  void for_each_tap(Position at, std::size_t dst, Visit& visit) const {
    const std::int64_t height = src_.shape[2];
    const std::int64_t width = src_.shape[3];
    const std::int64_t group_in = src_.shape[1] / spec_.groups;
    const std::int64_t group = at.o / (spec_.out_channels / spec_.groups);
    for (std::int64_t i = 0; i < group_in; ++i) {
      for (std::int64_t ky = 0; ky < spec_.kernel.height; ++ky) {
        for (std::int64_t kx = 0; kx < spec_.kernel.width; ++kx) {
          const std::int64_t y =
              at.y * spec_.stride.height + ky * spec_.dilation.height - spec_.padding.height;
          const std::int64_t x =
              at.x * spec_.stride.width + kx * spec_.dilation.width - spec_.padding.width;
          if (y < 0 || y >= height || x < 0 || x >= width) continue;
          const std::int64_t channel = group * group_in + i;
          const std::int64_t src = ((at.n * src_.shape[1] + channel) * height + y) * width + x;
          const std::int64_t weight =
              ((at.o * group_in + i) * spec_.kernel.height + ky) * spec_.kernel.width + kx;
          visit(Product{static_cast<std::size_t>(src), static_cast<std::size_t>(weight), dst});
        }
      }
    }
  }

  ops::Convolution spec_;
  bool residual_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Convolution&, const LayerRequest& request) {
  return std::make_unique<Convolution>(request);
}

}  // namespace plait::kernels::reference
