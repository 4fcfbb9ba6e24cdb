// Sparse linear: dst[n,o] = f(bias[o] + sum over the pattern of weight[k] src[n,column[k]]), with a
// residual added inside of f.
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class SparseLinear final : public PlainLayer {
 public:
  explicit SparseLinear(const LayerRequest& request)
      : PlainLayer(request),
        spec_(std::get<ops::SparseLinear>(request.spec)),
        adds_(request.residual) {
    const auto& ends_in = request.activation ? request.activation : spec_.ends_in;
    if (!ends_in) return;
    LayerRequest activation = request;
    activation.spec = *ends_in;
    activation.srcs = {dst_};
    activation.residual = false;
    activation_ = make(*ends_in, activation);
  }

  LayerTraits traits() const override { return {.weights_reads_src = true, .adds_in_place = true}; }

  void forward(const LayerArgs& args) override {
    float* const y = args.dst.floats();
    for (std::int64_t n = 0; n < src_.shape[0]; ++n) {
      const float* src = args.src[0].floats() + n * src_.shape[1];
      std::int64_t k = 0;
      for (std::int64_t o = 0; o < dst_.shape[1]; ++o) {
        double sum = spec_.bias ? args.weights[slots_[1].offset + o] : 0.0F;
        if (adds_) sum += args.src[1].floats()[n * dst_.shape[1] + o];
        for (const std::int32_t i : spec_.pattern->row(o)) {
          sum += static_cast<double>(args.weights[k++]) * src[i];
        }
        y[n * dst_.shape[1] + o] = static_cast<float>(sum);
      }
    }
    if (activation_ == nullptr) return;
    LayerArgs in_place = args;
    in_place.src[0] = args.dst;
    activation_->forward(in_place);
  }

  void backward_data(const LayerArgs& args) override {
    float* const dx = args.diff_src();
    std::vector<double> sums(static_cast<std::size_t>(src_.shape[1]));
    for (std::int64_t n = 0; n < src_.shape[0]; ++n) {
      std::fill(sums.begin(), sums.end(), 0.0);
      const float* diff_dst = args.diff_dst.floats() + n * dst_.shape[1];
      std::int64_t k = 0;
      for (std::int64_t o = 0; o < dst_.shape[1]; ++o) {
        for (const std::int32_t i : spec_.pattern->row(o)) {
          sums[static_cast<std::size_t>(i)] += static_cast<double>(args.weights[k++]) * diff_dst[o];
        }
      }
      for (std::int64_t i = 0; i < src_.shape[1]; ++i) {
        dx[n * src_.shape[1] + i] = static_cast<float>(sums[static_cast<std::size_t>(i)]);
      }
    }
  }

  void backward_weights(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    const float* const g = args.diff_dst.floats();
    const std::int64_t batch = src_.shape[0];
    const std::int64_t in = src_.shape[1];
    const std::int64_t out = dst_.shape[1];
    std::int64_t k = 0;
    for (std::int64_t o = 0; o < out; ++o) {
      for (const std::int32_t i : spec_.pattern->row(o)) {
        double sum = 0;
        for (std::int64_t n = 0; n < batch; ++n) {
          sum += static_cast<double>(g[n * out + o]) * x[n * in + i];
        }
        args.diff_weights[k++] = static_cast<float>(sum);
      }
      if (!spec_.bias) continue;
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) sum += g[n * out + o];
      args.diff_weights[slots_[1].offset + o] = static_cast<float>(sum);
    }
  }

 private:
  ops::SparseLinear spec_;
  bool adds_;  ///< src[1] to the result
  std::unique_ptr<Layer> activation_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::SparseLinear&, const LayerRequest& request) {
  return std::make_unique<SparseLinear>(request);
}

}  // namespace plait::kernels::reference
