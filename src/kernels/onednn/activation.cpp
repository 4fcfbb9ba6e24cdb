// Elementwise activations. Those whose derivative follows from the result work in place.
#include "kernels/onednn/kernel.hpp"
#include "kernels/onednn/layers.hpp"
#include "kernels/simd/relu.hpp"

namespace plait::kernels::onednn {

namespace {

using dnnl::algorithm;
using Forward = dnnl::eltwise_forward;
using Backward = dnnl::eltwise_backward;

struct Algorithms {
  algorithm forward;
  algorithm backward;
};

Algorithms algorithms_of(ops::ActivationKind kind) {
  switch (kind) {
    case ops::ActivationKind::relu:
      return {algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd};
    case ops::ActivationKind::tanh:
      return {algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd};
    case ops::ActivationKind::sigmoid:
      return {algorithm::eltwise_logistic, algorithm::eltwise_logistic_use_dst_for_bwd};
    case ops::ActivationKind::gelu:
      return {algorithm::eltwise_gelu_erf, algorithm::eltwise_gelu_erf};
    case ops::ActivationKind::leaky_relu:
      return {algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd};
    case ops::ActivationKind::silu: return {algorithm::eltwise_swish, algorithm::eltwise_swish};
    case ops::ActivationKind::clip:
    case ops::ActivationKind::hard_sigmoid:
    case ops::ActivationKind::hard_swish: break;  // simd/
  }
  return {};
}

/// oneDNN's leaky ReLU is its ReLU with alpha as the slope; its swish is x sigmoid(alpha x).
float alpha_of(const ops::Activation& spec) {
  if (spec.kind == ops::ActivationKind::leaky_relu) return static_cast<float>(spec.slope);
  return spec.kind == ops::ActivationKind::silu ? 1.0F : 0.0F;
}

class Activation final : public Layer {
 public:
  explicit Activation(const LayerRequest& request)
      : desc_(request.srcs[0]),
        kind_(std::get<ops::Activation>(request.spec).kind),
        by_dst_(ops::derivative_from_dst(kind_)),
        threads_(request.threads) {
    const Algorithms algorithms = algorithms_of(kind_);
    const float alpha = alpha_of(std::get<ops::Activation>(request.spec));
    // oneDNN knows no panels; elementwise they are a row of numbers.
    const Md md = desc_.layout == tensor::Layout::panels ? plain_md({desc_.physical_elements()})
                                                         : to_md(desc_);
    const auto forward_kind = dnnl::prop_kind::forward_training;
    // The pair must name one algorithm; use_dst variants compute the same forward.
    const Forward::primitive_desc forward({forward_kind, algorithms.backward, md, alpha, 0.0F},
                                          user_scratch(), cpu());
    const Backward::primitive_desc backward({algorithms.backward, md, md, alpha, 0.0F},
                                            user_scratch(), cpu(), forward);
    forward_ = Kernel(Forward(forward), forward.scratchpad_desc());
    forward_.input(DNNL_ARG_SRC, md, md);
    forward_.output(DNNL_ARG_DST, md, md);
    backward_ = Kernel(Backward(backward), backward.scratchpad_desc());
    backward_.input(by_dst_ ? DNNL_ARG_DST : DNNL_ARG_SRC, md, md);
    backward_.input(DNNL_ARG_DIFF_DST, md, md);
    backward_.output(DNNL_ARG_DIFF_SRC, md, md);
  }

  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override {
    return {.data_reads_src = !by_dst_,
            .data_reads_dst = by_dst_,
            .diff_in_place = true,
            .forward_in_place = by_dst_};
  }
  std::size_t scratch_bytes(Pass pass) const override {
    return pass == Pass::forward ? forward_.scratch_bytes() : backward_.scratch_bytes();
  }
  void forward(const LayerArgs& args) override {
    if (kind_ == ops::ActivationKind::relu) {  // oneDNN's turns NaN into 0
      return simd::relu(args.src[0].floats(), args.dst.floats(), desc_.bytes() / sizeof(float),
                        threads_);
    }
    forward_.run({{DNNL_ARG_SRC, args.src[0].floats()}, {DNNL_ARG_DST, args.dst.floats()}},
                 args.scratch);
  }
  void backward_data(const LayerArgs& args) override {
    backward_.run({{DNNL_ARG_SRC, args.src[0].floats()},
                   {DNNL_ARG_DST, args.dst.floats()},
                   {DNNL_ARG_DIFF_DST, args.diff_dst.floats()},
                   {DNNL_ARG_DIFF_SRC, args.diff_src()}},
                  args.scratch);
  }

 private:
  tensor::TensorDesc desc_;
  ops::ActivationKind kind_;
  bool by_dst_;
  int threads_;
  Kernel forward_, backward_;
};

}  // namespace

std::unique_ptr<Layer> make_activation(const LayerRequest& request) {
  return std::make_unique<Activation>(request);
}

}  // namespace plait::kernels::onednn
