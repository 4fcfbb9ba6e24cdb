// LayerNorm of rows of M values, the last dimensions of a sample:
//   xhat = (src - mean) / sqrt(var + eps),  dst = weight xhat + bias,  var = sum (src - mean)^2 / M
//   diff_bias = sum over rows of g,  diff_weight = sum over rows of g xhat,  g = diff_dst
//   diff_src = (h - sum h / M - xhat sum (h xhat) / M) / sqrt(var + eps),  h = weight g
// Nothing is saved: mean and deviation of a row are computed again from src.
#include <algorithm>
#include <cmath>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class LayerNorm final : public PlainLayer {
 public:
  explicit LayerNorm(const LayerRequest& request)
      : PlainLayer(request),
        spec_(std::get<ops::LayerNorm>(request.spec)),
        size_(1),
        weight_(spec_.affine ? slots_[0].offset : 0),
        bias_(spec_.affine ? slots_[1].offset : 0) {
    const auto dims = src_.shape.dims();
    for (const std::int64_t dim : dims.last(static_cast<std::size_t>(spec_.dims))) size_ *= dim;
    rows_ = src_.shape.elements() / size_;
  }

  LayerTraits traits() const override {
    return {.data_reads_src = true, .weights_reads_src = spec_.affine};
  }

  void forward(const LayerArgs& args) override {
    in_parallel(rows_, [&](std::int64_t row) {
      const float* src = args.src[0].floats() + row * size_;
      float* dst = args.dst.floats() + row * size_;
      const Statistics s = statistics(src);
      const float* weight = args.weights + weight_;
      const float* bias = args.weights + bias_;
      for (std::int64_t k = 0; k < size_; ++k) {
        const double xhat = (src[k] - s.mean) * s.inverse;
        dst[k] = static_cast<float>(spec_.affine ? weight[k] * xhat + bias[k] : xhat);
      }
    });
  }

  void backward_data(const LayerArgs& args) override {
    in_parallel(rows_, [&](std::int64_t row) {
      const float* src = args.src[0].floats() + row * size_;
      const float* diff_dst = args.diff_dst.floats() + row * size_;
      float* diff_src = args.diff_src() + row * size_;
      const Statistics s = statistics(src);
      const float* weight = args.weights + weight_;
      const auto h = [&](std::int64_t k) -> double {
        return spec_.affine ? static_cast<double>(weight[k]) * diff_dst[k] : diff_dst[k];
      };
      double sum = 0;
      double product = 0;
#pragma omp simd reduction(+ : sum, product)
      for (std::int64_t k = 0; k < size_; ++k) {
        sum += h(k);
        product += h(k) * ((src[k] - s.mean) * s.inverse);
      }
      sum /= static_cast<double>(size_);
      product /= static_cast<double>(size_);
      for (std::int64_t k = 0; k < size_; ++k) {
        const double xhat = (src[k] - s.mean) * s.inverse;
        diff_src[k] = static_cast<float>(s.inverse * (h(k) - sum - xhat * product));
      }
    });
  }

  /// By columns, so that no sum over rows is split.
  void backward_weights(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    std::vector<Statistics> all(static_cast<std::size_t>(rows_));
    in_parallel(rows_, [&](std::int64_t row) {
      all[static_cast<std::size_t>(row)] = statistics(x + row * size_);
    });
    constexpr std::int64_t kColumns = 64;
    in_parallel((size_ + kColumns - 1) / kColumns, [&](std::int64_t part) {
      const std::int64_t first = part * kColumns;
      const std::int64_t count = std::min(kColumns, size_ - first);
      double weight[kColumns] = {};
      double bias[kColumns] = {};
      for (std::int64_t row = 0; row < rows_; ++row) {
        const Statistics& s = all[static_cast<std::size_t>(row)];
        const float* src = x + row * size_ + first;
        const float* g = args.diff_dst.floats() + row * size_ + first;
        for (std::int64_t k = 0; k < count; ++k) {
          weight[k] += g[k] * ((src[k] - s.mean) * s.inverse);
          bias[k] += g[k];
        }
      }
      for (std::int64_t k = 0; k < count; ++k) {
        args.diff_weights[weight_ + first + k] = static_cast<float>(weight[k]);
        args.diff_weights[bias_ + first + k] = static_cast<float>(bias[k]);
      }
    });
    for (const ParameterSlot& slot : slots_) {
      std::fill(args.diff_weights + slot.offset + size_,
                args.diff_weights + slot.offset + slot.physical_size, 0.0F);
    }
  }

 private:
  struct Statistics {
    double mean;
    double inverse;  ///< 1 / sqrt(variance + epsilon)
  };

  Statistics statistics(const float* src) const {
    double mean = 0;
#pragma omp simd reduction(+ : mean)
    for (std::int64_t k = 0; k < size_; ++k) mean += src[k];
    mean /= static_cast<double>(size_);
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t k = 0; k < size_; ++k) squares += (src[k] - mean) * (src[k] - mean);
    return {mean, 1.0 / std::sqrt(squares / static_cast<double>(size_) + spec_.epsilon)};
  }

  ops::LayerNorm spec_;
  std::int64_t size_;  ///< of a row
  std::int64_t rows_ = 0;
  std::int64_t weight_;  ///< where among the parameters
  std::int64_t bias_;
};

}  // namespace

std::unique_ptr<Layer> make(const ops::LayerNorm&, const LayerRequest& request) {
  return std::make_unique<LayerNorm>(request);
}

}  // namespace plait::kernels::reference
