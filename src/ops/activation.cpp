// Names and numbers of the activations.
#include "ops/activation.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

std::string_view Activation::name() const {
  switch (kind) {
    case ActivationKind::relu: return "relu";
    case ActivationKind::tanh: return "tanh";
    case ActivationKind::sigmoid: return "sigmoid";
    case ActivationKind::gelu: return "gelu";
    case ActivationKind::clip: return "clip";
    case ActivationKind::leaky_relu: return "leaky_relu";
    case ActivationKind::silu: return "silu";
    case ActivationKind::hard_sigmoid: return "hard_sigmoid";
    case ActivationKind::hard_swish: return "hard_swish";
  }
  return "activation";
}

tensor::Shape Activation::result(std::span<const tensor::Shape> srcs,
                                 const std::string& where) const {
  if (!(ceiling > 0 && ceiling <= kLarge)) {
    user_error("{}: the ceiling {} of clip is not above 0", where, ceiling);
  }
  if (!(slope >= 0 && slope <= kLarge)) {
    user_error("{}: the slope {} of leaky_relu must be a number from 0 on", where, slope);
  }
  return srcs[0];
}

std::vector<OperationInfo> Activation::describe() {
  const auto one = [](ActivationKind of, std::string_view onnx, std::string_view torch) {
    const Activation usual{.kind = of};
    return OperationInfo{.name = usual.name(), .onnx = onnx, .torch = torch, .usual = usual};
  };
  using enum ActivationKind;
  std::vector<OperationInfo> all{
      one(relu, "Relu", "ReLU"),
      one(tanh, "Tanh", "Tanh"),
      one(sigmoid, "Sigmoid", "Sigmoid"),
      one(gelu, "Gelu", "GELU"),
      one(silu, "", "SiLU"),
      one(hard_sigmoid, "HardSigmoid", "Hardsigmoid"),
      one(hard_swish, "HardSwish", "Hardswish"),
  };
  OperationInfo clipped = one(clip, "Clip", "Hardtanh");
  clipped.fields = {
      field(&Activation::ceiling, {.key = "ceiling", .least = -kLarge, .most = kLarge})};
  all.push_back(clipped);
  OperationInfo leaky = one(leaky_relu, "LeakyRelu", "LeakyReLU");
  leaky.fields = {field(&Activation::slope,
                        {.key = "slope", .least = -kLarge, .most = kLarge, .onnx = "alpha"})};
  all.push_back(leaky);
  return all;
}

}  // namespace plait::ops
