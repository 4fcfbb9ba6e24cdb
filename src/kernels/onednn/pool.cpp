// Max, average and global average pooling. oneDNN adds the elements of a window one after the other
// in fp32: large windows are averaged by kernels of our own. Both divide by the whole kernel; where
// ceil_mode lets the last row or column of windows reach beyond the padding, which PyTorch does not
// count, these are multiplied by kernel / window.
#include <algorithm>
#include <optional>

#include "graph/shapes.hpp"
#include "kernels/onednn/kernel.hpp"
#include "kernels/onednn/layers.hpp"
#include "kernels/simd/average_windows.hpp"

namespace plait::kernels::onednn {

namespace {

using dnnl::algorithm;
using Dims = dnnl::memory::dims;
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

ops::Pool as_pool(const LayerRequest& request) {
  if (const auto* pool = std::get_if<ops::Pool>(&request.spec)) return *pool;
  const ops::Extent2 all{request.srcs[0].shape[2], request.srcs[0].shape[3]};
  return {.kind = ops::PoolKind::average, .kernel = all, .stride = all};
}

/// oneDNN wants the padding behind the last window exactly; floor mode may leave less than
/// `padding`.
std::int64_t padding_behind(std::int64_t src, std::int64_t dst, std::int64_t kernel,
                            std::int64_t stride, std::int64_t padding) {
  return (dst - 1) * stride + kernel - src - padding;
}

/// kernel / (what of the last window lies before the padding's end); 1 where it fits.
double beyond_padding(std::int64_t behind, std::int64_t padding, std::int64_t kernel) {
  if (behind <= padding) return 1;
  return static_cast<double>(kernel) / static_cast<double>(kernel - (behind - padding));
}

algorithm algorithm_of(const ops::Pool& pool) {
  if (pool.kind == ops::PoolKind::max) return algorithm::pooling_max;
  const bool counts = pool.count_include_pad || pool.padding == ops::Extent2{0, 0};
  return counts ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
}

class Pool final : public Layer {
 public:
  explicit Pool(const LayerRequest& request) : threads_(request.threads) {
    const ops::Pool pool = as_pool(request);
    const tensor::Shape sample = request.srcs[0].shape.without_front();
    const tensor::Shape dst_sample = ops::result_shape(request.spec, {&sample, 1}, request.name);
    dst_desc_ = batch_desc(dst_sample, request.srcs[0].shape[0], request.srcs[0].layout);
    const Md src = to_md(request.srcs[0]);
    const Md dst = to_md(dst_desc_);
    const Dims stride{pool.stride.height, pool.stride.width};
    const Dims kernel{pool.kernel.height, pool.kernel.width};
    const Dims before{pool.padding.height, pool.padding.width};
    const Dims behind{padding_behind(sample[1], dst_sample[1], kernel[0], stride[0], before[0]),
                      padding_behind(sample[2], dst_sample[2], kernel[1], stride[1], before[1])};
    const algorithm algo = algorithm_of(pool);
    if (algo == algorithm::pooling_avg_include_padding) {
      last_row_ = beyond_padding(behind[0], before[0], kernel[0]);
      last_column_ = beyond_padding(behind[1], before[1], kernel[1]);
    }
    const Forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algo, src, dst, stride, kernel, before, behind},
        user_scratch(), cpu());
    const Backward::primitive_desc backward({algo, src, dst, stride, kernel, before, behind},
                                            user_scratch(), cpu(), forward);
    forward_ = Kernel(Forward(forward), forward.scratchpad_desc());
    backward_ = Kernel(Backward(backward), backward.scratchpad_desc());
    if (pool.kind == ops::PoolKind::max) {
      const Md workspace = forward.workspace_desc();
      workspace_bytes_ = workspace.get_size();
      forward_.output(DNNL_ARG_WORKSPACE, workspace, workspace);
      backward_.input(DNNL_ARG_WORKSPACE, workspace, workspace);
    }
    forward_.input(DNNL_ARG_SRC, src, src);
    forward_.output(DNNL_ARG_DST, dst, dst);
    backward_.input(DNNL_ARG_DIFF_DST, dst, dst);
    backward_.output(DNNL_ARG_DIFF_SRC, src, src);
    if (algo == algorithm::pooling_avg_include_padding &&
        kernel[0] * kernel[1] > simd::kSmallWindow) {
      large_ = simd::average_pass(pool, request.srcs[0], dst_desc_);
    }
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {}; }
  std::size_t saved_bytes() const override { return workspace_bytes_; }
  std::size_t scratch_bytes(Pass pass) const override {
    if (pass == Pass::forward) return forward_.scratch_bytes();
    return backward_.scratch_bytes() + scaled_bytes();
  }
  void forward(const LayerArgs& args) override {
    if (large_) {
      simd::average_windows(*large_, args.src[0].floats(), args.dst.floats(), threads_);
    } else {
      forward_.run({{DNNL_ARG_SRC, args.src[0].floats()},
                    {DNNL_ARG_DST, args.dst.floats()},
                    {DNNL_ARG_WORKSPACE, args.saved}},
                   args.scratch);
    }
    if (scales()) scale(args.dst.floats());
  }
  void backward_data(const LayerArgs& args) override {
    const float* diff_dst = args.diff_dst.floats();
    if (scales()) {
      auto* scaled = reinterpret_cast<float*>(args.scratch);
      std::copy_n(diff_dst, dst_desc_.physical_elements(), scaled);
      scale(scaled);
      diff_dst = scaled;
    }
    backward_.run({{DNNL_ARG_DIFF_DST, diff_dst},
                   {DNNL_ARG_DIFF_SRC, args.diff_src()},
                   {DNNL_ARG_WORKSPACE, args.saved}},
                  args.scratch + scaled_bytes());
  }

 private:
  bool scales() const { return last_row_ != 1 || last_column_ != 1; }
  std::size_t scaled_bytes() const { return scales() ? (dst_desc_.bytes() + 63) / 64 * 64 : 0; }
  /// The windows of the last row and column of every image.
  void scale(float* values) const {
    const std::int64_t height = dst_desc_.shape[2];
    const std::int64_t width = dst_desc_.shape[3];
    const std::int64_t block = tensor::channel_block(dst_desc_.layout);
    const std::int64_t planes = dst_desc_.physical_elements() / (height * width * block);
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x, values += block) {
          const double by = (y + 1 == height ? last_row_ : 1) * (x + 1 == width ? last_column_ : 1);
          if (by == 1) continue;
          for (std::int64_t c = 0; c < block; ++c) {
            values[c] = static_cast<float>(by * values[c]);
          }
        }
      }
    }
  }

  int threads_;
  tensor::TensorDesc dst_desc_;
  std::optional<simd::AveragePass> large_;
  std::size_t workspace_bytes_ = 0;
  double last_row_ = 1;  ///< factors of average pooling
  double last_column_ = 1;
  Kernel forward_, backward_;
};

}  // namespace

std::unique_ptr<Layer> make_pool(const LayerRequest& request) {
  return std::make_unique<Pool>(request);
}

}  // namespace plait::kernels::onednn
