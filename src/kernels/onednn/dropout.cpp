// Dropout: the mask is drawn in plain element order and kept as one byte per element in memory
// order.
#include <algorithm>
#include <vector>

#include "kernels/dropout_mask.hpp"
#include "kernels/onednn/layers.hpp"

namespace plait::kernels::onednn {

namespace {

class Dropout final : public Layer {
 public:
  explicit Dropout(const LayerRequest& request)
      : desc_(request.srcs[0]),
        probability_(std::get<ops::Dropout>(request.spec).probability),
        key_(dropout_key(request.name)),
        threads_(request.threads) {}

  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override { return {.diff_in_place = true, .forward_in_place = true}; }
  std::size_t saved_bytes() const override {
    return static_cast<std::size_t>(desc_.physical_elements());
  }

  void forward(const LayerArgs& args) override {
    if (args.training) {
      draw(args);
      multiply(args.src[0].floats(), reinterpret_cast<const std::uint8_t*>(args.saved),
               args.dst.floats());
    } else if (args.dst.floats() != args.src[0].floats()) {
      std::copy_n(args.src[0].floats(), desc_.physical_elements(), args.dst.floats());
    }
  }
  void backward_data(const LayerArgs& args) override {
    multiply(args.diff_dst.floats(), reinterpret_cast<const std::uint8_t*>(args.saved),
             args.diff_src());
  }

 private:
  std::size_t sample_elements() const {
    return static_cast<std::size_t>(desc_.shape.elements() / desc_.shape[0]);
  }

  void draw(const LayerArgs& args) const {
    auto* mask = reinterpret_cast<std::uint8_t*>(args.saved);
    const std::int64_t samples = desc_.shape[0];
    const std::int64_t stride = desc_.physical_elements() / samples;
    const std::int64_t block = tensor::channel_block(desc_.layout);
    const std::int64_t pixels = desc_.shape.rank() == 4 ? desc_.shape[2] * desc_.shape[3] : 1;
#pragma omp parallel num_threads(threads_)
    {
      std::vector<std::uint8_t> plain(sample_elements());
#pragma omp for schedule(static)
      for (std::int64_t n = 0; n < samples; ++n) {
        draw_dropout_mask({key_, args.randomness, n, probability_}, plain);
        std::uint8_t* out = mask + n * stride;
        std::fill_n(out, stride, std::uint8_t{0});
        for (std::int64_t e = 0; e < static_cast<std::int64_t>(plain.size()); ++e) {
          const std::int64_t channel = e / pixels;
          const std::int64_t at =
              block == 1 ? e : (channel / block * pixels + e % pixels) * block + channel % block;
          out[at] = plain[static_cast<std::size_t>(e)];
        }
      }
    }
  }

  void multiply(const float* src, const std::uint8_t* mask, float* dst) const {
    const float scale = dropout_scale(probability_);
    const std::int64_t size = desc_.physical_elements();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < size; ++i) dst[i] = mask[i] != 0 ? src[i] * scale : 0.0F;
  }

  tensor::TensorDesc desc_;
  double probability_;
  std::uint64_t key_;
  int threads_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(const LayerRequest& request) {
  return std::make_unique<Dropout>(request);
}

}  // namespace plait::kernels::onednn
