// Linear: dst[n,o] = bias[o] + sum_i weight[o,i] src[n,i].
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Linear final : public PlainLayer {
 public:
  explicit Linear(const LayerRequest& request)
      : PlainLayer(request), has_bias_(std::get<ops::Linear>(request.spec).bias) {}

  LayerTraits traits() const override { return {.weights_reads_src = true}; }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    float* const y = args.dst.floats();
    for (std::int64_t n = 0; n < batch(); ++n) {
      for (std::int64_t o = 0; o < out(); ++o) {
        double sum = has_bias_ ? args.weights[slots_[1].offset + o] : 0.0F;
        for (std::int64_t i = 0; i < in(); ++i) {
          sum += static_cast<double>(args.weights[o * in() + i]) * x[n * in() + i];
        }
        y[n * out() + o] = static_cast<float>(sum);
      }
    }
  }

  void backward_data(const LayerArgs& args) override {
    float* const dx = args.diff_src();
    const float* const g = args.diff_dst.floats();
    for (std::int64_t n = 0; n < batch(); ++n) {
      for (std::int64_t i = 0; i < in(); ++i) {
        double sum = 0;
        for (std::int64_t o = 0; o < out(); ++o) {
          sum += static_cast<double>(args.weights[o * in() + i]) * g[n * out() + o];
        }
        dx[n * in() + i] = static_cast<float>(sum);
      }
    }
  }

  void backward_weights(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    const float* const g = args.diff_dst.floats();
    for (std::int64_t o = 0; o < out(); ++o) {
      for (std::int64_t i = 0; i < in(); ++i) {
        double sum = 0;
        for (std::int64_t n = 0; n < batch(); ++n) {
          sum += static_cast<double>(g[n * out() + o]) * x[n * in() + i];
        }
        args.diff_weights[o * in() + i] = static_cast<float>(sum);
      }
      if (!has_bias_) continue;
      double sum = 0;
      for (std::int64_t n = 0; n < batch(); ++n) sum += g[n * out() + o];
      args.diff_weights[slots_[1].offset + o] = static_cast<float>(sum);
    }
  }

 private:
  /// Rows, of all samples.
  std::int64_t batch() const { return src_.shape.elements() / in(); }
  std::int64_t in() const { return src_.shape[src_.shape.rank() - 1]; }
  std::int64_t out() const { return dst_.shape[dst_.shape.rank() - 1]; }

  bool has_bias_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Linear&, const LayerRequest& request) {
  return std::make_unique<Linear>(request);
}

}  // namespace plait::kernels::reference
