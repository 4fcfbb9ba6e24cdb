// hard_sigmoid's backward pass reads dst, hard_swish's reads src. In padding dst must be 0, where
// hard_sigmoid of 0 is 1/2.
#include "kernels/simd/hard_activation.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace plait::kernels::simd {

namespace {

/// (x + 3) / 6 clipped to [0, 1]; a NaN stays one.
inline float gate(float x) {
  const float sixth = (x + 3.0F) * (1.0F / 6.0F);
  return sixth < 0 ? 0.0F : sixth > 1 ? 1.0F : sixth;
}

class HardSigmoid final : public Layer {
 public:
  explicit HardSigmoid(const LayerRequest& request)
      : desc_(request.srcs[0]), threads_(request.threads) {}

  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override {
    return {.data_reads_dst = true, .diff_in_place = true, .forward_in_place = true};
  }
  void forward(const LayerArgs& args) override {
    const float* src = args.src[0].floats();
    float* dst = args.dst.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < desc_.physical_elements(); ++i) dst[i] = gate(src[i]);
    clear_padding(dst);
  }
  void backward_data(const LayerArgs& args) override {
    const float* dst = args.dst.floats();
    const float* diff_dst = args.diff_dst.floats();
    float* diff_src = args.diff_src();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < desc_.physical_elements(); ++i) {
      diff_src[i] = dst[i] > 0 && dst[i] < 1 ? diff_dst[i] * (1.0F / 6.0F) : 0.0F;
    }
  }

 private:
  /// Of blocks of channels; that of panels may be anything.
  void clear_padding(float* dst) const {
    const std::int64_t block = tensor::channel_block(desc_.layout);
    if (block == 1 || desc_.shape[1] % block == 0) return;
    const std::int64_t pixels = desc_.shape[2] * desc_.shape[3];
    const std::int64_t sample = round_up(desc_.shape[1], block) * pixels;
    const std::int64_t used = desc_.shape[1] % block;
    for (std::int64_t n = 0; n < desc_.shape[0]; ++n) {
      float* last = dst + (n + 1) * sample - pixels * block;
      for (std::int64_t p = 0; p < pixels; ++p) {
        std::fill(last + p * block + used, last + (p + 1) * block, 0.0F);
      }
    }
  }

  tensor::TensorDesc desc_;
  int threads_;
};

class HardSwish final : public Layer {
 public:
  explicit HardSwish(const LayerRequest& request)
      : desc_(request.srcs[0]), threads_(request.threads) {}

  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override { return {.data_reads_src = true, .diff_in_place = true}; }
  void forward(const LayerArgs& args) override {
    const float* src = args.src[0].floats();
    float* dst = args.dst.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < desc_.physical_elements(); ++i) dst[i] = src[i] * gate(src[i]);
  }
  /// At the corners as PyTorch: -1/2 at -3, 1 at 3.
  void backward_data(const LayerArgs& args) override {
    const float* src = args.src[0].floats();
    const float* diff_dst = args.diff_dst.floats();
    float* diff_src = args.diff_src();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < desc_.physical_elements(); ++i) {
      const float x = src[i];
      const float slope = x < -3 ? 0.0F : x >= 3 ? 1.0F : x * (1.0F / 3.0F) + 0.5F;
      diff_src[i] = diff_dst[i] * slope;
    }
  }

 private:
  tensor::TensorDesc desc_;
  int threads_;
};

}  // namespace

std::unique_ptr<Layer> make_hard_activation(const LayerRequest& request) {
  if (std::get<ops::Activation>(request.spec).kind == ops::ActivationKind::hard_sigmoid) {
    return std::make_unique<HardSigmoid>(request);
  }
  return std::make_unique<HardSwish>(request);
}

}  // namespace plait::kernels::simd
