// Elementwise activations. gelu, silu and hard_swish find their derivative from src, all others
// from dst:
//   gelu(x) = x P(x),  gelu'(x) = P(x) + x p(x),  P(x) = (1 + erf(x / sqrt 2)) / 2,  p = P'.
//   silu(x) = x s(x),  silu'(x) = s(x) (1 + x (1 - s(x))),  s(x) = 1 / (1 + exp(-x)).
#include <cmath>
#include <numbers>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

double normal_cdf(double x) { return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)); }

double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double hard_sigmoid(double x) { return x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6; }

class Activation final : public PlainLayer {
 public:
  explicit Activation(const LayerRequest& request)
      : PlainLayer(request),
        kind_(std::get<ops::Activation>(request.spec).kind),
        ceiling_(static_cast<float>(std::get<ops::Activation>(request.spec).ceiling)),
        slope_(static_cast<float>(std::get<ops::Activation>(request.spec).slope)) {}

  LayerTraits traits() const override {
    return {.data_reads_src = from_src(),
            .data_reads_dst = !from_src(),
            .diff_in_place = true,
            .forward_in_place = !from_src()};
  }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    float* const y = args.dst.floats();
    for (std::int64_t i = 0; i < src_.shape.elements(); ++i) {
      y[i] = static_cast<float>(value(x[i]));
    }
  }

  void backward_data(const LayerArgs& args) override {
    float* const dx = args.diff_src();
    const float* const g = args.diff_dst.floats();
    const float* from = from_src() ? args.src[0].floats() : args.dst.floats();
    for (std::int64_t i = 0; i < src_.shape.elements(); ++i) {
      dx[i] = static_cast<float>(g[i] * derivative(from[i]));
    }
  }

 private:
  bool from_src() const { return !ops::derivative_from_dst(kind_); }

  double value(double x) const {
    switch (kind_) {
      case ops::ActivationKind::relu: return x < 0 ? 0 : x;  // a NaN stays one
      case ops::ActivationKind::tanh: return std::tanh(x);
      case ops::ActivationKind::sigmoid: return sigmoid(x);
      case ops::ActivationKind::gelu: return x * normal_cdf(x);
      case ops::ActivationKind::clip: return x < 0 ? 0 : x > ceiling_ ? ceiling_ : x;
      case ops::ActivationKind::leaky_relu: return x > 0 ? x : slope_ * x;
      case ops::ActivationKind::silu: return x * sigmoid(x);
      case ops::ActivationKind::hard_sigmoid: return hard_sigmoid(x);
      case ops::ActivationKind::hard_swish: return x * hard_sigmoid(x);
    }
    return x;
  }

  /// Of src for gelu, silu and hard_swish, else of dst; relu's at 0 is 0, leaky_relu's is its
  /// slope.
  double derivative(double from) const {
    switch (kind_) {
      case ops::ActivationKind::relu: return from > 0 ? 1 : 0;
      case ops::ActivationKind::tanh: return 1.0 - from * from;
      case ops::ActivationKind::sigmoid: return from * (1.0 - from);
      case ops::ActivationKind::gelu: return normal_cdf(from) + from * normal_density(from);
      case ops::ActivationKind::clip: return from > 0 && from < ceiling_ ? 1 : 0;
      case ops::ActivationKind::leaky_relu: return from > 0 ? 1 : slope_;
      case ops::ActivationKind::silu: return sigmoid(from) * (1.0 + from * (1.0 - sigmoid(from)));
      case ops::ActivationKind::hard_sigmoid: return from > 0 && from < 1 ? 1.0 / 6 : 0;
      case ops::ActivationKind::hard_swish: return from < -3 ? 0 : from >= 3 ? 1 : from / 3 + 0.5;
    }
    return 1;
  }

  ops::ActivationKind kind_;
  double ceiling_;
  double slope_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Activation&, const LayerRequest& request) {
  return std::make_unique<Activation>(request);
}

}  // namespace plait::kernels::reference
