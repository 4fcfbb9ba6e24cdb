// Adaptive average pooling: the mean of each window; windows may overlap.
#include <algorithm>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

/// Of src, along one axis: first, and one behind the last.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<Span> spans(std::int64_t count, std::int64_t extent) {
  std::vector<Span> all;
  for (std::int64_t i = 0; i < count; ++i) {
    all.push_back({i * extent / count, ((i + 1) * extent + count - 1) / count});
  }
  return all;
}

class AdaptiveAveragePool final : public PlainLayer {
 public:
  explicit AdaptiveAveragePool(const LayerRequest& request)
      : PlainLayer(request),
        rows_(spans(dst_.shape[2], src_.shape[2])),
        columns_(spans(dst_.shape[3], src_.shape[3])) {}

  LayerTraits traits() const override { return {}; }

  void forward(const LayerArgs& args) override {
    in_parallel(images(), [&](std::int64_t image) {
      const float* src = args.src[0].floats() + image * src_pixels();
      float* dst = args.dst.floats() + image * dst_pixels();
      for (const Span& y : rows_) {
        for (const Span& x : columns_) {
          double sum = 0;
          for (std::int64_t h = y.begin; h < y.end; ++h) {
            for (std::int64_t w = x.begin; w < x.end; ++w) sum += src[h * src_.shape[3] + w];
          }
          *dst++ = static_cast<float>(sum / size(y, x));
        }
      }
    });
  }
  void backward_data(const LayerArgs& args) override {
    in_parallel(images(), [&](std::int64_t image) {
      const float* diff_dst = args.diff_dst.floats() + image * dst_pixels();
      std::vector<double> sum(static_cast<std::size_t>(src_pixels()));
      for (const Span& y : rows_) {
        for (const Span& x : columns_) {
          const double share = *diff_dst++ / size(y, x);
          for (std::int64_t h = y.begin; h < y.end; ++h) {
            double* row = sum.data() + h * src_.shape[3];
            for (std::int64_t w = x.begin; w < x.end; ++w) row[w] += share;
          }
        }
      }
      float* diff_src = args.diff_src() + image * src_pixels();
      for (std::size_t i = 0; i < sum.size(); ++i) diff_src[i] = static_cast<float>(sum[i]);
    });
  }

 private:
  static double size(const Span& y, const Span& x) {
    return static_cast<double>((y.end - y.begin) * (x.end - x.begin));
  }
  std::int64_t images() const { return src_.shape[0] * src_.shape[1]; }
  std::int64_t src_pixels() const { return src_.shape[2] * src_.shape[3]; }
  std::int64_t dst_pixels() const { return dst_.shape[2] * dst_.shape[3]; }

  std::vector<Span> rows_;
  std::vector<Span> columns_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::AdaptiveAveragePool&, const LayerRequest& request) {
  return std::make_unique<AdaptiveAveragePool>(request);
}

}  // namespace plait::kernels::reference
