// Concat: dst[n] = src[0][n], src[1][n], ... one behind the other; gradients are cut apart again.
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Concat final : public PlainLayer {
 public:
  explicit Concat(const LayerRequest& request) : PlainLayer(request) {
    for (const tensor::TensorDesc& src : request.srcs) {
      sizes_.push_back(src.shape.elements() / src.shape[0]);
    }
  }

  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    float* const y = args.dst.floats();
    for (std::int64_t n = 0, at = 0; n < src_.shape[0]; ++n) {
      for (std::size_t k = 0; k < sizes_.size(); ++k) {
        for (std::int64_t i = 0; i < sizes_[k]; ++i)
          y[at++] = args.src[k].floats()[n * sizes_[k] + i];
      }
    }
  }
  void backward_data(const LayerArgs& args) override {
    const float* const g = args.diff_dst.floats();
    for (std::int64_t n = 0, at = 0; n < src_.shape[0]; ++n) {
      for (std::size_t k = 0; k < sizes_.size(); ++k) {
        float* diff = args.diff_srcs[k].floats();
        for (std::int64_t i = 0; i < sizes_[k]; ++i, ++at) {
          if (diff != nullptr) diff[n * sizes_[k] + i] = g[at];
        }
      }
    }
  }

 private:
  std::vector<std::int64_t> sizes_;  ///< of a sample, by source
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Concat&, const LayerRequest& request) {
  return std::make_unique<Concat>(request);
}

}  // namespace plait::kernels::reference
