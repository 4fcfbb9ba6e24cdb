// Linear: oneDNN's inner product on features NxC, or on the rows of NxTxC.
#include "kernels/onednn/kernel.hpp"
#include "kernels/onednn/layers.hpp"

namespace plait::kernels::onednn {

namespace {

using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

class Linear final : public Layer {
 public:
  explicit Linear(const LayerRequest& request) : spec_(std::get<ops::Linear>(request.spec)) {
    const auto specs = ops::parameters_of(request.spec, request.srcs[0].shape.without_front());
    plain_weights_ = plain_md(specs[0].shape);
    dst_desc_ = graph::result_desc(request.spec, request.srcs);
    const std::int64_t in = specs[0].shape[1];
    const std::int64_t rows = request.srcs[0].shape.elements() / in;
    const Md src = plain_md({rows, in});
    const Md dst = plain_md({rows, spec_.out_features});
    const Md bias = spec_.bias ? plain_md({spec_.out_features}) : Md();
    // Plain ones need no conversion for an embedding, which reads rows of them.
    const Md any = request.shares_weights ? plain_weights_
                                          : Md{plain_weights_.dims(), dnnl::memory::data_type::f32,
                                               dnnl::memory::format_tag::any};
    const auto attributes = user_scratch();
    const dnnl::engine& engine = cpu();

    const auto kind = dnnl::prop_kind::forward_training;
    const Forward::primitive_desc pd(
        spec_.bias ? Forward::desc(kind, src, any, bias, dst) : Forward::desc(kind, src, any, dst),
        attributes, engine);
    weights_ = pd.weights_desc();
    forward_ = Kernel(Forward(pd), pd.scratchpad_desc());
    forward_.input(DNNL_ARG_SRC, src, src);
    forward_.input(DNNL_ARG_WEIGHTS, weights_, weights_);
    if (spec_.bias) forward_.input(DNNL_ARG_BIAS, bias, bias);
    forward_.output(DNNL_ARG_DST, dst, dst);

    const BackwardData::primitive_desc data({src, any, dst}, attributes, engine, pd);
    backward_data_ = Kernel(BackwardData(data), data.scratchpad_desc());
    backward_data_.input(DNNL_ARG_DIFF_DST, dst, dst);
    backward_data_.input(DNNL_ARG_WEIGHTS, weights_, data.weights_desc());
    backward_data_.output(DNNL_ARG_DIFF_SRC, src, src);

    const BackwardWeights::primitive_desc weights(spec_.bias
                                                      ? BackwardWeights::desc(src, any, bias, dst)
                                                      : BackwardWeights::desc(src, any, dst),
                                                  attributes, engine, pd);
    backward_weights_ = Kernel(BackwardWeights(weights), weights.scratchpad_desc());
    backward_weights_.input(DNNL_ARG_SRC, src, src);
    backward_weights_.input(DNNL_ARG_DIFF_DST, dst, dst);
    backward_weights_.output(DNNL_ARG_DIFF_WEIGHTS, weights_, weights.diff_weights_desc());
    if (spec_.bias) backward_weights_.output(DNNL_ARG_DIFF_BIAS, bias, bias);

    std::vector<std::int64_t> sizes{float_count(weights_)};
    if (spec_.bias) sizes.push_back(spec_.out_features);
    place_parameters(specs, sizes);
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {.weights_reads_src = true}; }
  std::size_t scratch_bytes(Pass pass) const override {
    return pass == Pass::forward         ? forward_.scratch_bytes()
           : pass == Pass::backward_data ? backward_data_.scratch_bytes()
                                         : backward_weights_.scratch_bytes();
  }

  void forward(const LayerArgs& args) override {
    forward_.run({{DNNL_ARG_SRC, args.src[0].floats()},
                  {DNNL_ARG_WEIGHTS, args.weights},
                  {DNNL_ARG_BIAS, spec_.bias ? args.weights + slots_[1].offset : nullptr},
                  {DNNL_ARG_DST, args.dst.floats()}},
                 args.scratch);
  }
  void backward_data(const LayerArgs& args) override {
    backward_data_.run({{DNNL_ARG_DIFF_DST, args.diff_dst.floats()},
                        {DNNL_ARG_WEIGHTS, args.weights},
                        {DNNL_ARG_DIFF_SRC, args.diff_src()}},
                       args.scratch);
  }
  void backward_weights(const LayerArgs& args) override {
    backward_weights_.run(
        {{DNNL_ARG_SRC, args.src[0].floats()},
         {DNNL_ARG_DIFF_DST, args.diff_dst.floats()},
         {DNNL_ARG_DIFF_WEIGHTS, args.diff_weights},
         {DNNL_ARG_DIFF_BIAS, spec_.bias ? args.diff_weights + slots_[1].offset : nullptr}},
        args.scratch);
  }
  void pack_parameter(std::size_t index, const float* plain, float* physical) const override {
    if (index != 0) return Layer::pack_parameter(index, plain, physical);
    reorder_once(plain_weights_, plain, weights_, physical);
  }
  void unpack_parameter(std::size_t index, const float* physical, float* plain) const override {
    if (index != 0) return Layer::unpack_parameter(index, physical, plain);
    reorder_once(weights_, physical, plain_weights_, plain);
  }

 private:
  ops::Linear spec_;
  tensor::TensorDesc dst_desc_;
  Md weights_, plain_weights_;
  Kernel forward_, backward_data_, backward_weights_;
};

}  // namespace

std::unique_ptr<Layer> make_linear(const LayerRequest& request) {
  return std::make_unique<Linear>(request);
}

}  // namespace plait::kernels::onednn
