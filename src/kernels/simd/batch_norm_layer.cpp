// The layer around the passes: statistics across threads and runs, running averages, gradients of
// scale and shift.
#include "kernels/simd/batch_norm_layer.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "base/rounding.hpp"
#include "kernels/simd/batch_norm.hpp"
#include "kernels/simd/batch_norm_plain.hpp"

namespace plait::kernels::simd {

namespace {

class BatchNorm final : public Layer {
 public:
  explicit BatchNorm(const LayerRequest& request)
      : spec_(std::get<ops::BatchNorm>(request.spec)),
        desc_(request.srcs[0]),
        relu_(request.relu),
        threads_(request.threads),
        channels_(desc_.shape[1]) {
    const std::int64_t block = tensor::channel_block(desc_.layout);
    const std::int64_t pixels = desc_.shape.elements() / (desc_.shape[0] * desc_.shape[1]);
    shape_ = {desc_.shape[0], divide_up(channels_, block), pixels, block};
    padded_ = shape_.channel_blocks * block;
    place_parameters(ops::parameters_of(request.spec, desc_.shape.without_front()));
    running_var_ = slots_.back().offset;
  }

  const tensor::TensorDesc& dst_desc() const override { return desc_; }
  LayerTraits traits() const override {
    return {.data_reads_src = true, .adds_addend = true, .diff_in_place = true};
  }
  /// Batch mean and 1 / sqrt(var + eps).
  std::size_t saved_bytes() const override { return sizeof(float) * 2 * count(padded_); }
  /// Per thread two sums per channel, then five coefficients per channel.
  std::size_t scratch_bytes(Pass) const override {
    return sizeof(double) * 2 * count(padded_) * static_cast<std::size_t>(threads_) +
           sizeof(float) * 5 * count(padded_);
  }

  void forward(const LayerArgs& args) override {
    BatchNormPass pass = bind(args);
    float* mean = reinterpret_cast<float*>(args.saved);
    float* inverse = mean + padded_;
    Coefficients c = coefficients(args);
    if (args.training) {
      std::fill_n(c.center, padded_, 0.0F);
      for (std::int64_t i = 0; i < channels_ && spec_.centered; ++i) {
        c.center[i] = pass.x[first_of_channel(i)];
      }
      pass.center = c.center;
      in_planes(pass, args, sums_);
      finish_statistics(args, c, mean, inverse);
    } else {
      for (std::int64_t i = 0; i < channels_; ++i) {
        mean[i] = spec_.centered ? args.state[slots_[2].offset + i] : 0;
        inverse[i] = static_cast<float>(
            1.0 / std::sqrt(double{args.state[running_var_ + i]} + spec_.epsilon));
      }
    }
    scale_and_shift(args, c);
    in_planes(pass, args, apply_);
  }

  // With xhat = (x - mean) inv, g = diff_dst behind ReLU, m = samples per channel:
  //   diff_bias = sum g,  diff_weight = sum g xhat,
  //   diff_src = weight inv (g - diff_bias / m - xhat diff_weight / m)
  // Not centered: mean and diff_bias are 0.
  void backward_data(const LayerArgs& args) override {
    BatchNormPass pass = bind(args);
    const float* mean = reinterpret_cast<const float*>(args.saved);
    const float* inverse = mean + padded_;
    const Coefficients c = coefficients(args);
    scale_and_shift(args, c);
    pass.center = mean;
    in_planes(pass, args, diff_sums_);
    float* diff_weight = args.diff_weights + slots_[0].offset;
    const double m = static_cast<double>(shape_.samples * shape_.pixels);
    for (std::int64_t i = 0; i < channels_; ++i) {
      const auto [all_g, sum_gx] = totals(args, i);
      const double sum_g = spec_.centered ? all_g : 0;
      const double inv = inverse[i];
      const double along = sum_gx * inv;  // sum g xhat
      diff_weight[i] = static_cast<float>(along);
      if (spec_.centered) args.diff_weights[slots_[1].offset + i] = static_cast<float>(sum_g);
      const double slope = -double{c.scale[i]} * inv * along / m;
      c.slope[i] = static_cast<float>(slope);
      c.level[i] = static_cast<float>(-double{c.scale[i]} * sum_g / m - slope * double{mean[i]});
    }
    std::fill(c.slope + channels_, c.slope + padded_, 0.0F);
    std::fill(c.level + channels_, c.level + padded_, 0.0F);
    if (args.diff_src() != nullptr) in_planes(pass, args, diff_apply_);
  }

 private:
  using PassFunction = void (*)(const BatchNormPass&);
  struct Coefficients {
    float* scale;
    float* shift;
    float* center;
    float* slope;
    float* level;
  };

  static std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

  double* partial(const LayerArgs& args, int thread) const {
    return reinterpret_cast<double*>(args.scratch) + 2 * padded_ * thread;
  }
  Coefficients coefficients(const LayerArgs& args) const {
    auto* base = reinterpret_cast<float*>(partial(args, threads_));
    return {base, base + padded_, base + 2 * padded_, base + 3 * padded_, base + 4 * padded_};
  }

  std::int64_t first_of_channel(std::int64_t channel) const {
    return channel / shape_.block * shape_.pixels * shape_.block + channel % shape_.block;
  }

  BatchNormPass bind(const LayerArgs& args) const {
    const Coefficients c = coefficients(args);
    return {.shape = shape_,
            .begin = 0,
            .end = 0,
            .relu = relu_,
            .x = args.src[0].floats(),
            .y = args.dst.floats(),
            .diff_y = args.diff_dst.floats(),
            .addend = args.diff_addend.floats(),
            .diff_x = args.diff_src(),
            .scale = c.scale,
            .shift = c.shift,
            .center = c.center,
            .slope = c.slope,
            .level = c.level,
            .sum_a = nullptr,
            .sum_b = nullptr};
  }

  /// Runs a pass over all planes, cut evenly over the threads, each with sums of its own.
  void in_planes(const BatchNormPass& whole, const LayerArgs& args, PassFunction function) const {
    const std::int64_t planes = shape_.samples * shape_.channel_blocks;
#pragma omp parallel num_threads(threads_)
    {
      const std::int64_t thread = omp_get_thread_num();
      const std::int64_t team = omp_get_num_threads();
      BatchNormPass pass = whole;
      pass.begin = planes * thread / team;
      pass.end = planes * (thread + 1) / team;
      pass.sum_a = partial(args, static_cast<int>(thread));
      pass.sum_b = pass.sum_a + padded_;
      if (function == sums_ || function == diff_sums_) std::fill_n(pass.sum_a, 2 * padded_, 0.0);
      function(pass);
      // A smaller team than asked for must not leave old sums behind.
      if (thread == 0) {
        for (std::int64_t t = team; t < threads_; ++t) {
          std::fill_n(partial(args, static_cast<int>(t)), 2 * padded_, 0.0);
        }
      }
    }
  }

  std::pair<double, double> totals(const LayerArgs& args, std::int64_t channel) const {
    double a = 0;
    double b = 0;
    for (int t = 0; t < threads_; ++t) {
      a += partial(args, t)[channel];
      b += partial(args, t)[padded_ + channel];
    }
    return {a, b};
  }

  // mean = c + E[x - c],  var = E[(x - c)^2] - E[x - c]^2; not centered: 0, E[x^2]
  void finish_statistics(const LayerArgs& args, const Coefficients& c, float* mean,
                         float* inverse) const {
    const double m = static_cast<double>(shape_.samples * shape_.pixels);
    for (std::int64_t i = 0; i < channels_; ++i) {
      const auto [sum, squares] = totals(args, i);
      const double offset = spec_.centered ? sum / m : 0;
      const double variance = std::max(0.0, squares / m - offset * offset);
      const double average = double{c.center[i]} + offset;
      mean[i] = static_cast<float>(average);
      inverse[i] = static_cast<float>(1.0 / std::sqrt(variance + spec_.epsilon));
      if (!std::isfinite(squares)) inverse[i] = std::nanf("");  // max(0, NaN) is 0
      if (args.state == nullptr) continue;
      const bool biased = spec_.centered && m > 1;
      move(args.state[running_var_ + i], biased ? variance * m / (m - 1) : variance);
      if (spec_.centered) move(args.state[slots_[2].offset + i], average);
    }
  }

  void move(float& running, double batch) const {
    running = static_cast<float>((1 - spec_.momentum) * double{running} + spec_.momentum * batch);
  }

  void scale_and_shift(const LayerArgs& args, const Coefficients& c) const {
    const float* mean = reinterpret_cast<const float*>(args.saved);
    const float* inverse = mean + padded_;
    const float* weight = args.weights + slots_[0].offset;
    for (std::int64_t i = 0; i < channels_; ++i) {
      const float bias = spec_.centered ? args.weights[slots_[1].offset + i] : 0;
      c.scale[i] = weight[i] * inverse[i];
      c.shift[i] = bias - mean[i] * c.scale[i];
    }
    std::fill(c.scale + channels_, c.scale + padded_, 0.0F);  // padding channels stay zero
    std::fill(c.shift + channels_, c.shift + padded_, 0.0F);
    auto* saved = reinterpret_cast<float*>(args.saved);
    std::fill(saved + channels_, saved + padded_, 0.0F);
  }

  ops::BatchNorm spec_;
  tensor::TensorDesc desc_;
  bool relu_;
  int threads_;
  std::int64_t channels_;
  std::int64_t padded_ = 0;
  std::int64_t running_var_ = 0;  ///< where in the state
  BlockedShape shape_;
  PassFunction sums_ = blocked() ? batch_norm_sums : batch_norm_sums_plain;
  PassFunction apply_ = blocked() ? batch_norm_apply : batch_norm_apply_plain;
  PassFunction diff_sums_ = blocked() ? batch_norm_diff_sums : batch_norm_diff_sums_plain;
  PassFunction diff_apply_ = blocked() ? batch_norm_diff_apply : batch_norm_diff_apply_plain;
  bool blocked() const { return tensor::channel_block(desc_.layout) > 1; }
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const LayerRequest& request) {
  return std::make_unique<BatchNorm>(request);
}

}  // namespace plait::kernels::simd
