// With C the convolution that takes an image like dst to one like src, and the same weight:
//   dst = C's backward_data of src, + bias;  diff_src = C of diff_dst
//   diff_weight = C's backward_weights with diff_dst as its source and src as its gradient
// Where C leaves its result in another layout than src has, src is converted.
#include "kernels/transposed_convolution.hpp"

#include <algorithm>

#include "base/rounding.hpp"
#include "graph/layer_sizes.hpp"
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels {

namespace {

class TransposedConvolution final : public Layer {
 public:
  TransposedConvolution(const LayerRequest& request, Backend backend)
      : spec_(std::get<ops::TransposedConvolution>(request.spec)),
        threads_(request.threads),
        src_(request.srcs[0]),
        dst_(graph::result_desc(request.spec, request.srcs)),
        block_(tensor::channel_block(dst_.layout)) {
    const LayerRequest other{.spec = spec_.transposed(src_.shape[1]),
                             .srcs = {dst_},
                             .threads = threads_,
                             .name = request.name};
    convolution_ = make_layer(other, backend);
    const tensor::TensorDesc& inside = convolution_->dst_desc();
    if (!(inside == src_)) {
      LayerRequest move{.spec = request.spec, .srcs = {src_}, .threads = threads_};
      move.convert_to = inside.layout;
      convert_ = make_layer(move, backend);
      converted_bytes_ = cache_lines(inside.bytes());
    }
    std::vector<std::int64_t> sizes{convolution_->parameter_slots()[0].physical_size};
    if (spec_.bias) sizes.push_back(graph::whole_lines(spec_.out_channels));
    place_parameters(ops::parameters_of(request.spec, src_.shape.without_front()), sizes);
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_; }
  LayerTraits traits() const override { return {.weights_reads_src = true}; }
  bool layout_follows_batch() const override { return convolution_->layout_follows_batch(); }
  std::size_t scratch_bytes(Pass pass) const override {
    const Pass inside = pass == Pass::forward         ? Pass::backward_data
                        : pass == Pass::backward_data ? Pass::forward
                                                      : pass;
    std::size_t most = convolution_->scratch_bytes(inside);
    if (convert_) {
      const Pass way = pass == Pass::backward_data ? pass : Pass::forward;
      most = std::max(most, convert_->scratch_bytes(way));
    }
    return converted_bytes_ + most;
  }

  void forward(const LayerArgs& args) override {
    LayerArgs inside = inner(args);
    inside.diff_dst = converted(args);
    inside.diff_srcs = {args.dst};
    convolution_->backward_data(inside);
    if (spec_.bias) add_bias(args.weights + slots_[1].offset, args.dst.floats());
  }

  void backward_data(const LayerArgs& args) override {
    LayerArgs inside = inner(args);
    inside.src = {args.diff_dst};
    inside.dst = args.diff_srcs[0];
    if (convert_) inside.dst = {args.scratch, convert_->dst_desc()};
    convolution_->forward(inside);
    if (!convert_) return;
    LayerArgs back;
    back.diff_dst = inside.dst;
    back.diff_srcs = {args.diff_srcs[0]};
    back.scratch = inside.scratch;
    convert_->backward_data(back);
  }

  void backward_weights(const LayerArgs& args) override {
    LayerArgs inside = inner(args);
    inside.diff_dst = converted(args);
    inside.src = {args.diff_dst};
    inside.diff_weights = args.diff_weights;
    convolution_->backward_weights(inside);
    if (spec_.bias) sum_bias(args.diff_dst.floats(), args.diff_weights + slots_[1].offset);
  }

  void pack_parameter(std::size_t index, const float* plain, float* physical) const override {
    if (index == 0) return convolution_->pack_parameter(0, plain, physical);
    std::fill_n(physical, slots_[1].physical_size, 0.0F);
    std::copy_n(plain, spec_.out_channels, physical);
  }
  void unpack_parameter(std::size_t index, const float* physical, float* plain) const override {
    if (index == 0) return convolution_->unpack_parameter(0, physical, plain);
    std::copy_n(physical, spec_.out_channels, plain);
  }

 private:
  LayerArgs inner(const LayerArgs& args) const {
    LayerArgs inside;
    inside.weights = args.weights;
    inside.scratch = args.scratch + converted_bytes_;
    return inside;
  }

  /// src as the convolution's result lies.
  tensor::ConstView converted(const LayerArgs& args) {
    if (!convert_) return args.src[0];
    LayerArgs move;
    move.src = {args.src[0]};
    move.dst = {args.scratch, convert_->dst_desc()};
    move.scratch = args.scratch + converted_bytes_;
    convert_->forward(move);
    return move.dst;
  }

  std::int64_t blocks() const { return divide_up(dst_.shape[1], block_); }
  std::int64_t pixels() const { return dst_.shape[2] * dst_.shape[3]; }

  /// The bias is zero where channels are padding.
  void add_bias(const float* bias, float* dst) const {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t image = 0; image < dst_.shape[0] * blocks(); ++image) {
      const float* part = bias + image % blocks() * block_;
      float* at = dst + image * pixels() * block_;
      for (std::int64_t p = 0; p < pixels(); ++p) {
        for (std::int64_t c = 0; c < block_; ++c) at[p * block_ + c] += part[c];
      }
    }
  }

  void sum_bias(const float* diff_dst, float* diff_bias) const {
    std::fill_n(diff_bias, slots_[1].physical_size, 0.0F);
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t part = 0; part < blocks(); ++part) {
      double sum[16] = {};
      for (std::int64_t n = 0; n < dst_.shape[0]; ++n) {
        const float* at = diff_dst + (n * blocks() + part) * pixels() * block_;
        for (std::int64_t p = 0; p < pixels(); ++p) {
          for (std::int64_t c = 0; c < block_; ++c) sum[c] += at[p * block_ + c];
        }
      }
      for (std::int64_t c = 0; c < block_; ++c) {
        diff_bias[part * block_ + c] = static_cast<float>(sum[c]);
      }
    }
  }

  ops::TransposedConvolution spec_;
  int threads_;
  tensor::TensorDesc src_, dst_;
  std::int64_t block_;
  std::unique_ptr<Layer> convolution_;
  std::unique_ptr<Layer> convert_;   ///< null: src lies as it should
  std::size_t converted_bytes_ = 0;  ///< of src, in the scratch memory
};

}  // namespace

std::unique_ptr<Layer> make_transposed_convolution(const LayerRequest& request, Backend backend) {
  return std::make_unique<TransposedConvolution>(request, backend);
}

std::unique_ptr<Layer> reference::make(const ops::TransposedConvolution&,
                                       const LayerRequest& request) {
  return make_transposed_convolution(request, Backend::reference);
}

}  // namespace plait::kernels
