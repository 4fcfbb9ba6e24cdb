// Add: dst = src[0] + src[1]. Both sources get diff_dst as it is, which the graph hands on by
// itself.
#include "base/error.hpp"
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Add final : public PlainLayer {
 public:
  using PlainLayer::PlainLayer;

  LayerTraits traits() const override { return {.forward_in_place = true}; }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    const float* const x1 = args.src[1].floats();
    float* const y = args.dst.floats();
    for (std::int64_t i = 0; i < src_.shape.elements(); ++i) {
      y[i] = x[i] + x1[i];
    }
  }
  void backward_data(const LayerArgs&) override {
    fail("add has no backward task: the graph passes diff_dst to both of its sources");
  }
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Add&, const LayerRequest& request) {
  return std::make_unique<Add>(request);
}

}  // namespace plait::kernels::reference
