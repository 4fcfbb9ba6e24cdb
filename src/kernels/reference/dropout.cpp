// Dropout: dst = src keep / (1 - p), diff_src = diff_dst keep / (1 - p). `saved` holds keep, a byte
// per element. In evaluation it is the identity and touches no saved memory.
#include "kernels/dropout_mask.hpp"
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Dropout final : public PlainLayer {
 public:
  explicit Dropout(const LayerRequest& request)
      : PlainLayer(request),
        probability_(std::get<ops::Dropout>(request.spec).probability),
        key_(dropout_key(request.name)) {}

  LayerTraits traits() const override { return {.diff_in_place = true, .forward_in_place = true}; }

  std::size_t saved_bytes() const override {
    return static_cast<std::size_t>(src_.shape.elements());
  }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    float* const y = args.dst.floats();
    if (!args.training) {
      for (std::int64_t i = 0; i < src_.shape.elements(); ++i) y[i] = x[i];
      return;
    }
    const std::int64_t batch = src_.shape[0];
    const auto sample_size = static_cast<std::size_t>(src_.shape.elements() / batch);
    auto* keep = reinterpret_cast<std::uint8_t*>(args.saved);
    for (std::int64_t n = 0; n < batch; ++n) {
      const DropoutDraw draw{
          .key = key_, .randomness = args.randomness, .sample = n, .probability = probability_};
      draw_dropout_mask(draw, {keep + static_cast<std::size_t>(n) * sample_size, sample_size});
    }
    apply(args, x, y);
  }

  void backward_data(const LayerArgs& args) override {
    apply(args, args.diff_dst.floats(), args.diff_src());
  }

 private:
  void apply(const LayerArgs& args, const float* from, float* to) const {
    const auto* keep = reinterpret_cast<const std::uint8_t*>(args.saved);
    const float scale = dropout_scale(probability_);
    for (std::int64_t i = 0; i < src_.shape.elements(); ++i) {
      to[i] = keep[i] != 0 ? from[i] * scale : 0.0F;
    }
  }

  double probability_;
  std::uint64_t key_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Dropout&, const LayerRequest& request) {
  return std::make_unique<Dropout>(request);
}

}  // namespace plait::kernels::reference
