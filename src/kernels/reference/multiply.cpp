// Multiply: dst = a b, with b as it is or one value per channel; diff_a = diff b, diff_b = diff a,
// summed where one value was used for many.
#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class Multiply final : public PlainLayer {
 public:
  explicit Multiply(const LayerRequest& request)
      : PlainLayer(request),
        factors_(request.srcs[1].shape.elements()),
        each_(dst_.shape.elements() / factors_) {}

  LayerTraits traits() const override { return {.data_reads_src = true}; }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    const float* const x1 = args.src[1].floats();
    float* const y = args.dst.floats();
    if (each_ == 1) return multiply(x, x1, y);
    in_parallel(factors_, [&](std::int64_t f) { scale(x + f * each_, x1[f], y + f * each_); });
  }
  void backward_data(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    const float* const x1 = args.src[1].floats();
    const float* const diff_dst = args.diff_dst.floats();
    float* diff_a = args.diff_srcs[0].floats();
    float* diff_b = args.diff_srcs[1].floats();
    if (each_ == 1) {
      if (diff_a != nullptr) multiply(diff_dst, x1, diff_a);
      if (diff_b != nullptr) multiply(diff_dst, x, diff_b);
      return;
    }
    in_parallel(factors_, [&](std::int64_t f) {
      const float* g = diff_dst + f * each_;
      if (diff_b != nullptr) diff_b[f] = dot(g, x + f * each_);
      if (diff_a != nullptr) scale(g, x1[f], diff_a + f * each_);
    });
  }

 private:
  void multiply(const float* a, const float* b, float* dst) const {
#pragma omp parallel for simd schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < factors_; ++i) dst[i] = a[i] * b[i];
  }
  void scale(const float* src, float factor, float* dst) const {
    for (std::int64_t k = 0; k < each_; ++k) dst[k] = src[k] * factor;
  }
  float dot(const float* a, const float* b) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < each_; ++k) sum += static_cast<double>(a[k]) * b[k];
    return static_cast<float>(sum);
  }

  std::int64_t factors_;  ///< of the whole batch
  std::int64_t each_;     ///< elements that a factor is used for
};

}  // namespace

std::unique_ptr<Layer> make(const ops::Multiply&, const LayerRequest& request) {
  return std::make_unique<Multiply>(request);
}

}  // namespace plait::kernels::reference
