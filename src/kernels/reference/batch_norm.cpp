// BatchNorm over channels (axis 1), optionally ending in ReLU. With M values per channel:
//   xhat = (src - mean) / sqrt(var + eps),  dst = weight xhat + bias,  var = sum (src - mean)^2 / M
//   diff_bias = sum g,  diff_weight = sum g xhat
//   diff_src = weight / sqrt(var + eps) (g - diff_bias / M - xhat diff_weight / M)
// Not centered: mean = 0, var = sum src^2 / M, no bias. Here g is diff_dst, zeroed where the ReLU
// cut. `saved` holds mean[C], inverse deviation[C], and, with ReLU, one byte per element that says
// whether it passed. Backward follows training only.
#include <cmath>

#include "kernels/reference/plain_layer.hpp"

namespace plait::kernels::reference {

namespace {

class BatchNorm final : public PlainLayer {
 public:
  explicit BatchNorm(const LayerRequest& request)
      : PlainLayer(request),
        spec_(std::get<ops::BatchNorm>(request.spec)),
        relu_(request.relu),
        batch_(src_.shape[0]),
        channels_(src_.shape[1]),
        pixels_(src_.shape.elements() / (batch_ * channels_)),
        running_var_(slots_.back().offset) {}

  LayerTraits traits() const override {
    return {.data_reads_src = true, .adds_addend = true, .diff_in_place = true};
  }

  std::size_t saved_bytes() const override {
    const std::int64_t mask = relu_ ? src_.shape.elements() : 0;
    return static_cast<std::size_t>(2 * channels_) * sizeof(float) + static_cast<std::size_t>(mask);
  }

  void forward(const LayerArgs& args) override {
    const float* const x = args.src[0].floats();
    float* const y = args.dst.floats();
    for (std::int64_t c = 0; c < channels_; ++c) {
      const Statistics s = args.training ? batch_statistics(args, c) : running_statistics(args, c);
      if (args.training) {
        saved_mean(args)[c] = static_cast<float>(s.mean);
        saved_inverse(args)[c] = static_cast<float>(s.inverse);
      }
      const double weight = args.weights[slots_[0].offset + c];
      const double bias = spec_.centered ? args.weights[slots_[1].offset + c] : 0;
      for_each_of_channel(c, [&](std::int64_t i) {
        const auto value = static_cast<float>(weight * (x[i] - s.mean) * s.inverse + bias);
        const bool passes = !relu_ || !(value <= 0);  // a NaN stays one
        if (relu_ && args.training) saved_mask(args)[i] = passes ? 1 : 0;
        y[i] = passes ? value : 0.0F;
      });
    }
  }

  void backward_data(const LayerArgs& args) override {
    float* const dx = args.diff_src();
    const float* const x = args.src[0].floats();
    const float* const diff_dst = args.diff_dst.floats();
    const float* const addend = args.diff_addend.floats();
    for (std::int64_t c = 0; c < channels_; ++c) {
      const double mean = saved_mean(args)[c];
      const double inverse = saved_inverse(args)[c];
      const auto g = [&](std::int64_t i) -> double {
        return !relu_ || saved_mask(args)[i] != 0 ? diff_dst[i] : 0.0F;
      };
      const auto xhat = [&](std::int64_t i) { return (x[i] - mean) * inverse; };

      double diff_bias = 0;
      double diff_weight = 0;
      for_each_of_channel(c, [&](std::int64_t i) {
        if (spec_.centered) diff_bias += g(i);
        diff_weight += g(i) * xhat(i);
      });
      args.diff_weights[slots_[0].offset + c] = static_cast<float>(diff_weight);
      if (spec_.centered) args.diff_weights[slots_[1].offset + c] = static_cast<float>(diff_bias);
      if (dx == nullptr) continue;

      const double weight = args.weights[slots_[0].offset + c];
      const double count = per_channel();
      for_each_of_channel(c, [&](std::int64_t i) {
        double value =
            weight * inverse * (g(i) - diff_bias / count - xhat(i) * diff_weight / count);
        if (addend != nullptr) value += addend[i];
        dx[i] = static_cast<float>(value);
      });
    }
  }

 private:
  struct Statistics {
    double mean;
    double inverse;  ///< 1 / sqrt(variance + epsilon)
  };

  double per_channel() const { return static_cast<double>(batch_ * pixels_); }

  template <class Visit>
  void for_each_of_channel(std::int64_t c, Visit visit) const {
    for (std::int64_t n = 0; n < batch_; ++n) {
      for (std::int64_t p = 0; p < pixels_; ++p) visit((n * channels_ + c) * pixels_ + p);
    }
  }

  Statistics batch_statistics(const LayerArgs& args, std::int64_t c) const {
    const float* const x = args.src[0].floats();
    double mean = 0;
    if (spec_.centered) for_each_of_channel(c, [&](std::int64_t i) { mean += x[i]; });
    mean /= per_channel();
    double squares = 0;
    for_each_of_channel(c, [&](std::int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    if (args.state != nullptr && !spec_.centered) {
      blend(args.state[running_var_ + c], squares / per_channel());
    } else if (args.state != nullptr) {
      // One value per channel has no unbiased variance; its 0 / 0 is taken as 0.
      const double unbiased = per_channel() > 1 ? squares / (per_channel() - 1) : 0.0;
      blend(args.state[slots_[2].offset + c], mean);
      blend(args.state[running_var_ + c], unbiased);
    }
    return {mean, 1.0 / std::sqrt(squares / per_channel() + spec_.epsilon)};
  }

  Statistics running_statistics(const LayerArgs& args, std::int64_t c) const {
    const double mean = spec_.centered ? args.state[slots_[2].offset + c] : 0;
    return {mean, 1.0 / std::sqrt(args.state[running_var_ + c] + spec_.epsilon)};
  }

  /// running <- (1 - momentum) running + momentum batch.
  void blend(float& running, double batch) const {
    running = static_cast<float>((1.0 - spec_.momentum) * running + spec_.momentum * batch);
  }

  static float* saved_mean(const LayerArgs& args) { return reinterpret_cast<float*>(args.saved); }
  float* saved_inverse(const LayerArgs& args) const { return saved_mean(args) + channels_; }
  std::uint8_t* saved_mask(const LayerArgs& args) const {
    return reinterpret_cast<std::uint8_t*>(saved_mean(args) + 2 * channels_);
  }

  ops::BatchNorm spec_;
  bool relu_;
  std::int64_t batch_;
  std::int64_t channels_;
  std::int64_t pixels_;
  std::int64_t running_var_;  ///< where in the state
};

}  // namespace

std::unique_ptr<Layer> make(const ops::BatchNorm&, const LayerRequest& request) {
  return std::make_unique<BatchNorm>(request);
}

}  // namespace plait::kernels::reference
