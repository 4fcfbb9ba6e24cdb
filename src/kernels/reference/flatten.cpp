// Flatten: in plain layout the same bytes under another shape.
#include <cstring>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Flatten final : public PlainLayer {
 public:
  using PlainLayer::PlainLayer;

  LayerTraits traits() const override { return {.diff_in_place = true, .forward_in_place = true}; }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    float* const y = args.dst.floats();
    if (y != x) std::memcpy(y, x, src_.bytes());
  }
  void backward_data(const LayerArgs& args) override {
    const float* const g = args.diff_dst.floats();
    if (args.diff_src() != g) std::memcpy(args.diff_src(), g, src_.bytes());
  }
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Flatten&, const LayerRequest& request) {
  return std::make_unique<Flatten>(request);
}

}  // namespace plait::kernels::reference
