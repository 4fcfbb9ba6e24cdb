// Max, average and global average pooling.
#include "layers/onednn/kernel.hpp"
#include "layers/onednn/layers.hpp"
#include "model/shapes.hpp"

namespace plait::onednn {

namespace {

using dnnl::algorithm;
using Dims = dnnl::memory::dims;
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

PoolSpec as_pool(const LayerRequest& request) {
  if (const auto* pool = std::get_if<PoolSpec>(&request.spec)) return *pool;
  const Extent2 all{request.srcs[0].shape[2], request.srcs[0].shape[3]};
  return {.kind = PoolKind::average, .kernel = all, .stride = all};
}

/// oneDNN wants the padding behind the last window exactly; floor mode may leave less than
/// `padding`.
std::int64_t padding_behind(std::int64_t src, std::int64_t dst, std::int64_t kernel,
                            std::int64_t stride, std::int64_t padding) {
  return (dst - 1) * stride + kernel - src - padding;
}

class Pool final : public Layer {
 public:
  explicit Pool(const LayerRequest& request) {
    const PoolSpec pool = as_pool(request);
    const Shape sample = request.srcs[0].shape.without_front();
    const Shape dst_sample = layer_shape(request.spec, {&sample, 1}, request.name);
    dst_desc_ = batch_desc(dst_sample, request.srcs[0].shape[0], request.srcs[0].layout);
    const Md src = to_md(request.srcs[0]);
    const Md dst = to_md(dst_desc_);
    const Dims stride{pool.stride.height, pool.stride.width};
    const Dims kernel{pool.kernel.height, pool.kernel.width};
    const Dims before{pool.padding.height, pool.padding.width};
    const Dims behind{padding_behind(sample[1], dst_sample[1], kernel[0], stride[0], before[0]),
                      padding_behind(sample[2], dst_sample[2], kernel[1], stride[1], before[1])};
    const auto algo = pool.kind == PoolKind::max ? algorithm::pooling_max
                                                 : algorithm::pooling_avg_include_padding;
    const Forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algo, src, dst, stride, kernel, before, behind},
        user_scratch(), cpu());
    const Backward::primitive_desc backward({algo, src, dst, stride, kernel, before, behind},
                                            user_scratch(), cpu(), forward);
    forward_ = Kernel(Forward(forward), forward.scratchpad_desc());
    backward_ = Kernel(Backward(backward), backward.scratchpad_desc());
    if (pool.kind == PoolKind::max) {
      const Md workspace = forward.workspace_desc();
      workspace_bytes_ = workspace.get_size();
      forward_.output(DNNL_ARG_WORKSPACE, workspace, workspace);
      backward_.input(DNNL_ARG_WORKSPACE, workspace, workspace);
    }
    forward_.input(DNNL_ARG_SRC, src, src);
    forward_.output(DNNL_ARG_DST, dst, dst);
    backward_.input(DNNL_ARG_DIFF_DST, dst, dst);
    backward_.output(DNNL_ARG_DIFF_SRC, src, src);
  }

  const TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {}; }
  std::size_t saved_bytes() const override { return workspace_bytes_; }
  std::size_t scratch_bytes(Pass pass) const override {
    return pass == Pass::forward ? forward_.scratch_bytes() : backward_.scratch_bytes();
  }
  void forward(const LayerArgs& args) override {
    forward_.run(
        {{DNNL_ARG_SRC, args.src[0]}, {DNNL_ARG_DST, args.dst}, {DNNL_ARG_WORKSPACE, args.saved}},
        args.scratch);
  }
  void backward_data(const LayerArgs& args) override {
    backward_.run({{DNNL_ARG_DIFF_DST, args.diff_dst},
                   {DNNL_ARG_DIFF_SRC, args.diff_src},
                   {DNNL_ARG_WORKSPACE, args.saved}},
                  args.scratch);
  }

 private:
  TensorDesc dst_desc_;
  std::size_t workspace_bytes_ = 0;
  Kernel forward_, backward_;
};

}  // namespace

std::unique_ptr<Layer> make_pool(const LayerRequest& request) {
  return std::make_unique<Pool>(request);
}

}  // namespace plait::onednn
