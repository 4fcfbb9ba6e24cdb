// Subtract: dst = a - b; diff_a = diff, diff_b = -diff.
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Subtract final : public PlainLayer {
 public:
  using PlainLayer::PlainLayer;

  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    const float* a = args.src[0].floats();
    const float* b = args.src[1].floats();
    float* const y = args.dst.floats();
    in_parallel(dst_.shape.elements(), [&](std::int64_t i) { y[i] = a[i] - b[i]; });
  }
  void backward_data(const LayerArgs& args) override {
    const float* const g = args.diff_dst.floats();
    float* diff_a = args.diff_srcs[0].floats();
    float* diff_b = args.diff_srcs[1].floats();
    in_parallel(dst_.shape.elements(), [&](std::int64_t i) {
      if (diff_b != nullptr) diff_b[i] = -g[i];
      if (diff_a != nullptr) diff_a[i] = g[i];
    });
  }
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Subtract&, const LayerRequest& request) {
  return std::make_unique<Subtract>(request);
}

}  // namespace plait::kernels::reference
