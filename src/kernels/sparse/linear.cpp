// Sparse linear: dst = f(bias + W src), or f(src[1] + bias + W src), with samples innermost. f is
// fused forward only: its gradient is the next step's, where both backward tasks find it.
#include "kernels/simd/add.hpp"
#include "kernels/sparse/kernel_cache.hpp"
#include "kernels/sparse/layers.hpp"

namespace plait::kernels::sparse {

namespace {

Activation fused(const std::optional<ops::Activation>& spec) {
  if (!spec) return {};
  const auto ceiling = static_cast<float>(spec->ceiling);
  switch (spec->kind) {
    case plait::ops::ActivationKind::relu: return {ActivationKind::relu};
    case plait::ops::ActivationKind::tanh: return {ActivationKind::tanh};
    case plait::ops::ActivationKind::clip: return {ActivationKind::clip, ceiling};
    default: return {};
  }
}

class Linear final : public Layer {
 public:
  explicit Linear(const LayerRequest& request)
      : spec_(std::get<ops::SparseLinear>(request.spec)),
        cache_(request.kernels != nullptr ? request.kernels : std::make_shared<KernelCache>()),
        panels_(panels_for(request.srcs[0].shape[0])),
        activation_(fused(request.activation ? request.activation : spec_.ends_in)),
        adds_(request.residual),
        threads_(request.threads),
        dst_desc_{.shape = {request.srcs[0].shape[0], spec_.pattern->rows},
                  .layout = tensor::Layout::panels} {
    place_parameters(ops::parameters_of(request.spec, request.srcs[0].shape.without_front()));
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {.weights_reads_src = true, .adds_in_place = true}; }

  void forward(const LayerArgs& args) override {
    if (adds_) {
      begin_sums(args);
      kernels().forward_add(panels_, args.weights, args.src[0].floats(), args.dst.floats(),
                            activation_, threads_);
    } else {
      kernels().forward(panels_, args.weights, bias_of(args.weights), args.src[0].floats(),
                        args.dst.floats(), activation_, threads_);
    }
  }
  void backward_data(const LayerArgs& args) override {
    kernels().backward_data(panels_, args.weights, args.diff_dst.floats(), args.diff_src(), false,
                            threads_);
  }
  void backward_weights(const LayerArgs& args) override {
    kernels().backward_weights(panels_, args.src[0].floats(), args.diff_dst.floats(),
                               args.diff_weights, bias_of(args.diff_weights), threads_);
  }

  bool layout_follows_batch() const override { return false; }
  void pack_parameter(std::size_t index, const float* plain, float* physical) const override {
    if (index != 0) return Layer::pack_parameter(index, plain, physical);
    kernels().pack(plain, physical);
  }
  void unpack_parameter(std::size_t index, const float* physical, float* plain) const override {
    if (index != 0) return Layer::unpack_parameter(index, physical, plain);
    kernels().unpack(physical, plain);
  }

 private:
  /// Not before they are wanted: a worker has the layers of others only by name.
  const SparseKernels& kernels() const {
    if (kernels_ == nullptr) kernels_ = cache_->get(spec_.pattern);
    return *kernels_;
  }

  /// What the products are added to, in dst.
  void begin_sums(const LayerArgs& args) const {
    const float* bias = bias_of(args.weights);
    const float* sums = args.src[1].floats();
    float* dst = args.dst.floats();
    if (bias == nullptr) {
      if (sums == dst) return;
      return simd::copy(dst, sums, dst_desc_.bytes() / sizeof(float), threads_);
    }
    const std::int64_t rows = dst_desc_.shape[1];
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t line = 0; line < panels_.count * rows; ++line) {
      const std::int64_t begin = line * panels_.width;
      for (std::int64_t i = begin; i < begin + panels_.width; ++i) {
        dst[i] = sums[i] + bias[line % rows];
      }
    }
  }

  template <class T>
  T* bias_of(T* parameters) const {
    return spec_.bias ? parameters + slots_[1].offset : nullptr;
  }

  ops::SparseLinear spec_;
  std::shared_ptr<KernelCache> cache_;
  mutable std::shared_ptr<const SparseKernels> kernels_;
  Panels panels_;
  Activation activation_;
  bool adds_;  ///< src[1] to the result
  int threads_;
  tensor::TensorDesc dst_desc_;
};

class Conversion final : public Layer {
 public:
  explicit Conversion(const LayerRequest& request)
      : panels_(panels_for(request.srcs[0].shape[0])),
        features_(request.srcs[0].shape[1]),
        threads_(request.threads),
        dst_desc_{.shape = request.srcs[0].shape, .layout = *request.convert_to} {}

  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {}; }
  void forward(const LayerArgs& args) override {
    convert(dst_desc_.layout, args.src[0].floats(), args.dst.floats());
  }
  void backward_data(const LayerArgs& args) override {
    convert(
        dst_desc_.layout == tensor::Layout::panels ? tensor::Layout::plain : tensor::Layout::panels,
        args.diff_dst.floats(), args.diff_src());
  }

 private:
  void convert(tensor::Layout to, const float* src, float* dst) const {
    if (to == tensor::Layout::panels) {
      to_panels(panels_, features_, src, dst, threads_);
    } else {
      from_panels(panels_, features_, src, dst, threads_);
    }
  }

  Panels panels_;
  std::int64_t features_;
  int threads_;
  tensor::TensorDesc dst_desc_;
};

}  // namespace

std::unique_ptr<Layer> make_linear(const LayerRequest& request) {
  return std::make_unique<Linear>(request);
}

std::unique_ptr<Layer> make_conversion(const LayerRequest& request) {
  return std::make_unique<Conversion>(request);
}

}  // namespace plait::kernels::sparse
