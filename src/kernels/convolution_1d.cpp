// N x C x L are the bytes of N x C x 1 x L. Sequences are always plain: where the convolution
// leaves its result in blocks, it is converted.
#include "kernels/convolution_1d.hpp"

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels {

namespace {

tensor::TensorDesc with_one_row(const tensor::TensorDesc& sequence) {
  const tensor::Shape& shape = sequence.shape;
  return {.shape = {shape[0], shape[1], 1, shape[2]}, .layout = sequence.layout};
}

class Convolution1d final : public Layer {
 public:
  Convolution1d(const LayerRequest& request, Backend backend) {
    const auto& spec = std::get<ops::Convolution1d>(request.spec);
    const tensor::Shape sample = request.srcs[0].shape.without_front();
    dst_ = batch_desc(ops::result_shape(request.spec, {&sample, 1}, request.name),
                      request.srcs[0].shape[0]);
    convolution_ = make_layer({.spec = spec.flat(),
                               .srcs = {with_one_row(request.srcs[0])},
                               .threads = request.threads,
                               .name = request.name},
                              backend);
    const tensor::TensorDesc& inside = convolution_->dst_desc();
    if (!(inside == with_one_row(dst_))) {
      LayerRequest move{.spec = request.spec, .srcs = {inside}, .threads = request.threads};
      move.convert_to = tensor::Layout::plain;
      convert_ = make_layer(move, backend);
      inside_bytes_ = cache_lines(inside.bytes());
    }
    std::vector<std::int64_t> sizes;
    for (const ParameterSlot& slot : convolution_->parameter_slots()) {
      sizes.push_back(slot.physical_size);
    }
    place_parameters(ops::parameters_of(request.spec, sample), sizes);
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_; }
  LayerTraits traits() const override { return {.weights_reads_src = true}; }
  bool layout_follows_batch() const override { return convolution_->layout_follows_batch(); }
  std::size_t scratch_bytes(Pass pass) const override {
    std::size_t most = convolution_->scratch_bytes(pass);
    if (convert_) {
      const Pass way = pass == Pass::forward ? pass : Pass::backward_data;
      most = std::max(most, convert_->scratch_bytes(way));
    }
    return inside_bytes_ + most;
  }

  void forward(const LayerArgs& args) override {
    LayerArgs inside = args;
    inside.scratch = args.scratch + inside_bytes_;
    if (convert_) inside.dst = {args.scratch, convolution_->dst_desc()};
    convolution_->forward(inside);
    if (!convert_) return;
    LayerArgs move;
    move.src = {inside.dst};
    move.dst = args.dst;
    move.scratch = inside.scratch;
    convert_->forward(move);
  }
  void backward_data(const LayerArgs& args) override {
    convolution_->backward_data(with_gradient(args));
  }
  void backward_weights(const LayerArgs& args) override {
    convolution_->backward_weights(with_gradient(args));
  }

  void pack_parameter(std::size_t index, const float* plain, float* physical) const override {
    convolution_->pack_parameter(index, plain, physical);
  }
  void unpack_parameter(std::size_t index, const float* physical, float* plain) const override {
    convolution_->unpack_parameter(index, physical, plain);
  }

 private:
  /// diff_dst as the convolution's result lies.
  LayerArgs with_gradient(const LayerArgs& args) {
    LayerArgs inside = args;
    inside.scratch = args.scratch + inside_bytes_;
    if (!convert_) return inside;
    LayerArgs move;
    move.diff_dst = args.diff_dst;
    move.diff_srcs = {{args.scratch, convolution_->dst_desc()}};
    move.scratch = inside.scratch;
    convert_->backward_data(move);
    inside.diff_dst = move.diff_srcs[0];
    return inside;
  }

  tensor::TensorDesc dst_;
  std::unique_ptr<Layer> convolution_;
  std::unique_ptr<Layer> convert_;  ///< null: the result is plain
  std::size_t inside_bytes_ = 0;    ///< of the result in blocks, in the scratch memory
};

}  // namespace

std::unique_ptr<Layer> make_convolution_1d(const LayerRequest& request, Backend backend) {
  return std::make_unique<Convolution1d>(request, backend);
}

std::unique_ptr<Layer> reference::make(const ops::Convolution1d&, const LayerRequest& request) {
  return make_convolution_1d(request, Backend::reference);
}

}  // namespace plait::kernels
