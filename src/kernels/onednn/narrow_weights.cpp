// Runs simd/narrow_convolution, then reorders its result into the layout of the weights.
#include "kernels/onednn/narrow_weights.hpp"

#include "base/rounding.hpp"

namespace plait::kernels::onednn {

NarrowWeights::NarrowWeights(const simd::NarrowShape& shape, const Md& weights, int threads)
    : shape_(shape), threads_(threads) {
  const Md ours(weights.dims(), dnnl::memory::data_type::f32, dnnl::memory::format_tag::Abcd8a);
  const dnnl::reorder::primitive_desc pd(cpu(), ours, cpu(), weights, user_scratch());
  reorder_ = Kernel(dnnl::reorder(pd), pd.scratchpad_desc());
  reorder_.input(DNNL_ARG_FROM, ours, ours);
  reorder_.output(DNNL_ARG_TO, weights, weights);
  sums_offset_ = cache_lines(sizeof(float) * simd::narrow_weights_size(shape));
  reorder_offset_ = sums_offset_ + cache_lines(simd::narrow_scratch_bytes(shape, threads));
}

std::size_t NarrowWeights::scratch_bytes() const {
  return reorder_offset_ + reorder_.scratch_bytes();
}

void NarrowWeights::run(const LayerArgs& args, float* diff_bias) {
  auto* blocked = reinterpret_cast<float*>(args.scratch);
  simd::narrow_backward_weights(shape_,
                                {args.src[0].floats(), args.diff_dst.floats(), blocked, diff_bias},
                                threads_, args.scratch + sums_offset_);
  reorder_.run({{DNNL_ARG_FROM, blocked}, {DNNL_ARG_TO, args.diff_weights}},
               args.scratch + reorder_offset_);
}

}  // namespace plait::kernels::onednn
