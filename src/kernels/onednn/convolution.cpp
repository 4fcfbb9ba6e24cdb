// Convolution: three primitives around one layout of weights (that of forward). Activations keep
// the layout they arrive in where a JIT kernel takes it. 3x3 tasks that our Winograd kernels do
// faster go there; they share the layouts, so the choice is per task and costs no conversion.
#include "kernels/winograd/convolution.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "graph/shapes.hpp"
#include "kernels/onednn/kernel.hpp"
#include "kernels/onednn/layers.hpp"
#include "kernels/onednn/narrow_weights.hpp"
#include "kernels/simd/add.hpp"
#include "kernels/simd/depthwise_weights.hpp"

namespace plait::kernels::onednn {

namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
using Dims = dnnl::memory::dims;

Md any_of(const Md& md) {
  return {md.dims(), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

template <class Pd>
bool slow(const Pd& pd) {
  const std::string_view name = pd.impl_info_str();
  return name.find("ref") != std::string_view::npos;
}

/// The geometry in oneDNN's words; dilation counts the gaps.
struct Geometry {
  Dims stride;
  Dims dilation;
  Dims padding;

  explicit Geometry(const ops::Convolution& c)
      : stride{c.stride.height, c.stride.width},
        dilation{c.dilation.height - 1, c.dilation.width - 1},
        padding{c.padding.height, c.padding.width} {}

  Forward::primitive_desc forward(const Md& src, const Md& weights, const Md& bias, const Md& dst,
                                  const dnnl::primitive_attr& attributes) const {
    const auto kind = prop_kind::forward_training;
    const auto algo = algorithm::convolution_direct;
    if (bias.is_zero()) {
      return {
          {kind, algo, src, weights, dst, stride, dilation, padding, padding}, attributes, cpu()};
    }
    return {{kind, algo, src, weights, bias, dst, stride, dilation, padding, padding},
            attributes,
            cpu()};
  }
  BackwardData::primitive_desc backward_data(const Md& src, const Md& weights, const Md& dst,
                                             const Forward::primitive_desc& hint) const {
    return {{algorithm::convolution_direct, src, weights, dst, stride, dilation, padding, padding},
            user_scratch(),
            cpu(),
            hint};
  }
  BackwardWeights::primitive_desc backward_weights(const Md& src, const Md& weights, const Md& bias,
                                                   const Md& dst,
                                                   const Forward::primitive_desc& hint) const {
    const auto algo = algorithm::convolution_direct;
    if (bias.is_zero()) {
      return {{algo, src, weights, dst, stride, dilation, padding, padding},
              user_scratch(),
              cpu(),
              hint};
    }
    return {{algo, src, weights, bias, dst, stride, dilation, padding, padding},
            user_scratch(),
            cpu(),
            hint};
  }
};

class Convolution final : public Layer {
 public:
  explicit Convolution(const LayerRequest& request)
      : spec_(std::get<ops::Convolution>(request.spec)),
        threads_(request.threads),
        residual_(request.residual) {
    const tensor::Shape sample = request.srcs[0].shape.without_front();
    const std::int64_t batch = request.srcs[0].shape[0];
    const tensor::Shape dst_sample = ops::result_shape(spec_, {&sample, 1}, request.name);
    const auto specs = ops::parameters_of(request.spec, sample);
    tensor::Shape weights_shape = specs[0].shape;
    if (spec_.groups > 1) {
      weights_shape[0] /= spec_.groups;
      weights_shape = weights_shape.with_front(spec_.groups);
    }
    plain_weights_ = plain_md(weights_shape);
    bias_ = spec_.bias ? plain_md({spec_.out_channels}) : Md();
    src_ = to_md(request.srcs[0]);
    const Md dst_plain = plain_md(dst_sample.with_front(batch));
    build_forward(residual_ ? to_md(request.srcs[1]) : any_of(dst_plain), dst_plain);
    choose_winograd(request.srcs[0]);
    if (!by_winograd(Pass::backward_data)) build_backward_data();
    if (!by_winograd(Pass::backward_weights)) build_backward_weights();

    std::vector<std::int64_t> sizes{float_count(weights_)};
    // Whole blocks: kernels of ours read and write the bias as they do channels.
    if (spec_.bias) sizes.push_back((spec_.out_channels + 7) / 8 * 8);
    place_parameters(specs, sizes);
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {.weights_reads_src = true}; }
  std::size_t scratch_bytes(Pass pass) const override {
    if (by_winograd(pass)) return winograd_->scratch_bytes(pass);
    if (narrow_ && pass == Pass::backward_weights) return narrow_->scratch_bytes();
    return pass == Pass::forward         ? forward_.scratch_bytes()
           : pass == Pass::backward_data ? backward_data_.scratch_bytes()
                                         : backward_weights_.scratch_bytes();
  }

  void forward(const LayerArgs& args) override {
    if (by_winograd(Pass::forward)) {
      winograd_->forward(args.src[0].floats(), args.weights, bias_of(args.weights),
                         args.dst.floats(), args.scratch);
    } else {
      run_forward(args);
    }
    if (residual_ && (add_after_ || by_winograd(Pass::forward))) {
      simd::add({args.dst.floats(), args.dst.floats(), args.src[1].floats(),
                 dst_desc_.bytes() / sizeof(float)},
                threads_);
    }
  }

  void backward_data(const LayerArgs& args) override {
    if (by_winograd(Pass::backward_data)) {
      return winograd_->backward_data(args.diff_dst.floats(), args.weights, args.diff_src(),
                                      args.scratch);
    }
    backward_data_.run({{DNNL_ARG_DIFF_DST, args.diff_dst.floats()},
                        {DNNL_ARG_WEIGHTS, args.weights},
                        {DNNL_ARG_DIFF_SRC, args.diff_src()}},
                       args.scratch);
  }

  void backward_weights(const LayerArgs& args) override {
    if (by_winograd(Pass::backward_weights)) {
      return winograd_->backward_weights(args.src[0].floats(), args.diff_dst.floats(),
                                         args.diff_weights, bias_of(args.diff_weights),
                                         args.scratch);
    }
    if (narrow_) return narrow_->run(args, bias_of(args.diff_weights));
    if (depthwise_) {
      simd::depthwise_backward_weights(*depthwise_,
                                       {args.src[0].floats(), args.diff_dst.floats(),
                                        args.diff_weights, bias_of(args.diff_weights)},
                                       threads_);
    } else {
      run_backward_weights(args);
    }
    if (spec_.bias) {
      float* bias = bias_of(args.diff_weights);
      std::fill(bias + spec_.out_channels, bias + slots_[1].physical_size, 0.0F);
    }
  }

  void run_backward_weights(const LayerArgs& args) {
    backward_weights_.run({{DNNL_ARG_SRC, args.src[0].floats()},
                           {DNNL_ARG_DIFF_DST, args.diff_dst.floats()},
                           {DNNL_ARG_DIFF_WEIGHTS, args.diff_weights},
                           {DNNL_ARG_DIFF_BIAS, bias_of(args.diff_weights)}},
                          args.scratch);
  }

  void pack_parameter(std::size_t index, const float* plain, float* physical) const override {
    if (index != 0) {
      std::fill_n(physical, slots_[index].physical_size, 0.0F);
      std::copy_n(plain, spec_.out_channels, physical);
      return;
    }
    reorder_once(plain_weights_, plain, weights_, physical);
  }
  void unpack_parameter(std::size_t index, const float* physical, float* plain) const override {
    if (index != 0) {
      std::copy_n(physical, spec_.out_channels, plain);
      return;
    }
    reorder_once(weights_, physical, plain_weights_, plain);
  }

 private:
  template <class T>
  T* bias_of(T* parameters) const {
    return spec_.bias ? parameters + slots_[1].offset : nullptr;
  }

  bool by_winograd(Pass pass) const { return by_winograd_[static_cast<std::size_t>(pass)]; }

  void run_forward(const LayerArgs& args) {
    const float* residual = residual_ ? args.src[1].floats() : nullptr;
    forward_.run({{DNNL_ARG_SRC, args.src[0].floats()},
                  {DNNL_ARG_WEIGHTS, args.weights},
                  {DNNL_ARG_BIAS, bias_of(args.weights)},
                  {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, residual},
                  {DNNL_ARG_DST, args.dst.floats()}},
                 args.scratch);
  }

  void choose_winograd(const tensor::TensorDesc& src) {
    const std::int64_t kernel = spec_.kernel.height;
    const std::int64_t padding = spec_.padding.height;
    const ops::Convolution square{.out_channels = spec_.out_channels,
                                  .kernel = {kernel, kernel},
                                  .padding = {padding, padding},
                                  .bias = spec_.bias};
    if ((kernel != 3 && kernel != 5) || padding >= kernel || !(spec_ == square) ||
        src.layout != tensor::Layout::blocked8 || dst_desc_.layout != tensor::Layout::blocked8) {
      return;
    }
    const Md blocked_weights(plain_weights_.dims(), dnnl::memory::data_type::f32,
                             dnnl::memory::format_tag::OIhw8i8o);
    if (weights_ != blocked_weights) return;
    const tensor::Shape& shape = src.shape;
    constexpr std::int64_t most_pixels = 1 << 24;  // tiles are counted in int
    if (shape[0] * shape[2] * shape[3] > most_pixels) return;
    // Channels as they lie in memory: whole blocks, the rest zero.
    const winograd::ConvolutionShape convolution{
        .batch = static_cast<int>(shape[0]),
        .in_channels = static_cast<int>((shape[1] + 7) / 8 * 8),
        .out_channels = static_cast<int>((spec_.out_channels + 7) / 8 * 8),
        .height = static_cast<int>(shape[2]),
        .width = static_cast<int>(shape[3]),
        .kernel = static_cast<int>(kernel),
        .padding = static_cast<int>(padding)};
    winograd_.emplace(convolution, threads_);
    for (Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
      by_winograd_[static_cast<std::size_t>(pass)] = winograd::worthwhile(convolution, pass);
    }
  }

  void build_forward(const Md& wanted_dst, const Md& dst_plain) {
    const Geometry geometry(spec_);
    auto pd = geometry.forward(src_, any_of(plain_weights_), bias_, wanted_dst, user_scratch());
    if (slow(pd)) {
      auto free_pd =
          geometry.forward(any_of(src_), any_of(plain_weights_), bias_, wanted_dst, user_scratch());
      if (!slow(free_pd)) pd = free_pd;
    }
    auto desc = from_md(pd.dst_desc());
    if (!desc) desc = from_md(dst_plain);
    dst_desc_ = *desc;
    dst_ = to_md(dst_desc_);
    if (residual_) pd = with_residual(geometry, pd);
    weights_ = pd.weights_desc();
    forward_ = Kernel(Forward(pd), pd.scratchpad_desc());
    forward_.input(DNNL_ARG_SRC, src_, pd.src_desc());
    forward_.input(DNNL_ARG_WEIGHTS, weights_, weights_);
    if (spec_.bias) forward_.input(DNNL_ARG_BIAS, bias_, bias_);
    if (residual_ && !add_after_) {
      forward_.input(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, dst_, dst_);
    }
    forward_.output(DNNL_ARG_DST, dst_, pd.dst_desc());
    forward_pd_ = pd;
  }

  /// The same convolution with the skip added in its epilogue, where the kernel can.
  Forward::primitive_desc with_residual(const Geometry& geometry,
                                        const Forward::primitive_desc& bare) {
    dnnl::post_ops post;
    post.append_binary(algorithm::binary_add, dst_);
    dnnl::primitive_attr attributes = user_scratch();
    attributes.set_post_ops(post);
    try {
      auto pd = geometry.forward(bare.src_desc(), any_of(plain_weights_), bias_, dst_, attributes);
      if (std::strcmp(pd.impl_info_str(), bare.impl_info_str()) == 0) return pd;
    } catch (const dnnl::error&) {
      // not offered for this shape: fall through
    }
    add_after_ = true;
    return bare;
  }

  void build_backward_data() {
    const Geometry geometry(spec_);
    auto data = geometry.backward_data(src_, any_of(weights_), dst_, forward_pd_);
    if (slow(data)) {
      auto free_pd =
          geometry.backward_data(any_of(src_), any_of(weights_), any_of(dst_), forward_pd_);
      if (!slow(free_pd)) data = free_pd;
    }
    backward_data_ = Kernel(BackwardData(data), data.scratchpad_desc());
    backward_data_.input(DNNL_ARG_DIFF_DST, dst_, data.diff_dst_desc());
    backward_data_.input(DNNL_ARG_WEIGHTS, weights_, data.weights_desc());
    backward_data_.output(DNNL_ARG_DIFF_SRC, src_, data.diff_src_desc());
  }

  bool choose_narrow() {
    const auto src = from_md(src_);
    const simd::NarrowShape shape{.batch = src->shape[0],
                                  .in_channels = src->shape[1],
                                  .src_height = src->shape[2],
                                  .src_width = src->shape[3],
                                  .dst_height = dst_desc_.shape[2],
                                  .dst_width = dst_desc_.shape[3],
                                  .convolution = spec_};
    if (src->layout != tensor::Layout::plain || dst_desc_.layout != tensor::Layout::blocked8 ||
        !simd::narrow_takes(shape)) {
      return false;
    }
    narrow_.emplace(shape, weights_, threads_);
    return true;
  }

  /// Where oneDNN has no depthwise kernel; ours writes the weights as they lie.
  bool choose_depthwise(std::string_view offered) {
    const simd::DepthwiseShape shape{*from_md(src_), dst_desc_, spec_};
    if (offered.find("jit_dw") != std::string_view::npos || !simd::depthwise_takes(shape)) {
      return false;
    }
    const auto tag = tensor::channel_block(dst_desc_.layout) == 16
                         ? dnnl::memory::format_tag::Abcde16a
                         : dnnl::memory::format_tag::Abcde8a;
    if (weights_ != Md(plain_weights_.dims(), dnnl::memory::data_type::f32, tag)) return false;
    depthwise_ = shape;
    return true;
  }

  void build_backward_weights() {
    const Geometry geometry(spec_);
    auto weights = geometry.backward_weights(src_, any_of(weights_), bias_, dst_, forward_pd_);
    if (slow(weights) && choose_narrow()) return;
    if (choose_depthwise(weights.impl_info_str())) return;
    if (slow(weights)) {
      auto free_pd = geometry.backward_weights(any_of(src_), any_of(weights_), bias_, any_of(dst_),
                                               forward_pd_);
      if (!slow(free_pd)) weights = free_pd;
    }
    backward_weights_ = Kernel(BackwardWeights(weights), weights.scratchpad_desc());
    backward_weights_.input(DNNL_ARG_SRC, src_, weights.src_desc());
    backward_weights_.input(DNNL_ARG_DIFF_DST, dst_, weights.diff_dst_desc());
    backward_weights_.output(DNNL_ARG_DIFF_WEIGHTS, weights_, weights.diff_weights_desc());
    if (spec_.bias) backward_weights_.output(DNNL_ARG_DIFF_BIAS, bias_, bias_);
  }

  ops::Convolution spec_;
  int threads_;
  bool residual_;
  bool add_after_ = false;
  Md src_, dst_, weights_, plain_weights_, bias_;
  tensor::TensorDesc dst_desc_;
  Forward::primitive_desc forward_pd_;
  std::optional<winograd::Convolution> winograd_;
  std::array<bool, 3> by_winograd_{};  ///< by task
  std::optional<NarrowWeights> narrow_;
  std::optional<simd::DepthwiseShape> depthwise_;  ///< backward_weights is ours
  Kernel forward_, backward_data_, backward_weights_;
};

}  // namespace

std::unique_ptr<Layer> make_convolution(const LayerRequest& request) {
  return std::make_unique<Convolution>(request);
}

}  // namespace plait::kernels::onednn
