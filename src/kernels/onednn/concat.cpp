// Concat in any layout in which the sources of a sample are whole runs of memory: plain, or blocks
// of channels that no source leaves half filled. The block around it sees to that.
#include <cstring>

#include "graph/layer_sizes.hpp"
#include "kernels/onednn/layers.hpp"

namespace plait::kernels::onednn {

namespace {

class Concat final : public Layer {
 public:
  explicit Concat(const LayerRequest& request)
      : dst_desc_(graph::result_desc(request.spec, request.srcs)), threads_(request.threads) {
    for (const tensor::TensorDesc& src : request.srcs) {
      const auto bytes = src.bytes() / static_cast<std::size_t>(src.shape[0]);
      runs_.push_back({.first = sample_bytes_, .bytes = bytes});
      sample_bytes_ += bytes;
    }
  }

  const tensor::TensorDesc& dst_desc() const override { return dst_desc_; }
  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    each_run([&](std::size_t n, std::size_t k) {
      const auto* src = reinterpret_cast<const std::byte*>(args.src[k].floats());
      auto* dst = reinterpret_cast<std::byte*>(args.dst.floats());
      std::memcpy(dst + n * sample_bytes_ + runs_[k].first, src + n * runs_[k].bytes,
                  runs_[k].bytes);
    });
  }
  void backward_data(const LayerArgs& args) override {
    each_run([&](std::size_t n, std::size_t k) {
      float* const diff = args.diff_srcs[k].floats();
      if (diff == nullptr) return;
      const auto* diff_dst = reinterpret_cast<const std::byte*>(args.diff_dst.floats());
      std::memcpy(reinterpret_cast<std::byte*>(diff) + n * runs_[k].bytes,
                  diff_dst + n * sample_bytes_ + runs_[k].first, runs_[k].bytes);
    });
  }

 private:
  /// One source of one sample.
  struct Run {
    std::size_t first = 0;
    std::size_t bytes = 0;
  };

  template <class Copy>
  void each_run(const Copy& copy) const {
    const std::int64_t samples = dst_desc_.shape[0];
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::size_t k = 0; k < runs_.size(); ++k) copy(static_cast<std::size_t>(n), k);
    }
  }

  tensor::TensorDesc dst_desc_;
  int threads_;
  std::vector<Run> runs_;
  std::size_t sample_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Layer> make_concat(const LayerRequest& request) {
  return std::make_unique<Concat>(request);
}

}  // namespace plait::kernels::onednn
