// Multiply: dst = a b, with b as it is or one value per channel; diff_a = diff b, diff_b = diff a,
// summed where one value was used for many.
#include "layers/reference/plain_layer.hpp"

namespace plait::layers::reference {

namespace {

class Multiply final : public PlainLayer {
 public:
  explicit Multiply(const LayerRequest& request)
      : PlainLayer(request),
        factors_(request.srcs[1].shape.elements()),
        each_(dst_.shape.elements() / factors_) {}

  LayerTraits traits() const override { return {.data_reads_src = true}; }

  void forward(const LayerArgs& args) override {
    for (std::int64_t f = 0, i = 0; f < factors_; ++f) {
      for (std::int64_t k = 0; k < each_; ++k, ++i) args.dst[i] = args.src[0][i] * args.src[1][f];
    }
  }
  void backward_data(const LayerArgs& args) override {
    float* diff_a = args.diff_srcs[0];
    float* diff_b = args.diff_srcs[1];
    for (std::int64_t f = 0, i = 0; f < factors_; ++f) {
      double sum = 0;
      for (std::int64_t k = 0; k < each_; ++k, ++i) {
        sum += static_cast<double>(args.diff_dst[i]) * args.src[0][i];
        if (diff_a != nullptr) diff_a[i] = args.diff_dst[i] * args.src[1][f];
      }
      if (diff_b != nullptr) diff_b[f] = static_cast<float>(sum);
    }
  }

 private:
  std::int64_t factors_;  ///< of the whole batch
  std::int64_t each_;     ///< elements that a factor is used for
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Multiply&, const LayerRequest& request) {
  return std::make_unique<Multiply>(request);
}

}  // namespace plait::layers::reference
