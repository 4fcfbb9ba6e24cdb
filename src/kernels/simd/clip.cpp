// The clip layer: its backward pass reads dst only.
#include "kernels/simd/clip.hpp"

namespace plait::kernels::simd {

namespace {

class Clip final : public Layer {
 public:
  explicit Clip(const LayerRequest& request)
      : desc_(request.srcs[0]),
        ceiling_(static_cast<float>(std::get<ops::Activation>(request.spec).ceiling)),
        threads_(request.threads) {}

  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override {
    return {.data_reads_dst = true, .diff_in_place = true, .forward_in_place = true};
  }
  void forward(const LayerArgs& args) override {
    const float* src = args.src[0].floats();
    float* dst = args.dst.floats();
    const float ceiling = ceiling_;
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < desc_.physical_elements(); ++i) {
      dst[i] = src[i] < 0 ? 0.0F : src[i] > ceiling ? ceiling : src[i];
    }
  }
  void backward_data(const LayerArgs& args) override {
    const float* dst = args.dst.floats();
    const float* diff_dst = args.diff_dst.floats();
    float* diff_src = args.diff_src();
    const float ceiling = ceiling_;
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < desc_.physical_elements(); ++i) {
      diff_src[i] = dst[i] > 0 && dst[i] < ceiling ? diff_dst[i] : 0.0F;
    }
  }

 private:
  tensor::TensorDesc desc_;
  float ceiling_;
  int threads_;
};

}  // namespace

std::unique_ptr<Layer> make_clip(const LayerRequest& request) {
  return std::make_unique<Clip>(request);
}

}  // namespace plait::kernels::simd
