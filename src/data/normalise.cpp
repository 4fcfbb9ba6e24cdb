// Measures mean and deviation per channel in double, and applies them.
#include "data/normalise.hpp"

#include <cmath>

#include "base/error.hpp"
#include "data/ids.hpp"

namespace plait::data {

namespace {

/// Sums of (x - origin) and its square in double; `origin` keeps the difference below well
/// conditioned.
struct Moments {
  double origin = 0;
  double sum = 0;
  double squares = 0;

  void add(std::span<const float> values) {
    // Four lanes in a fixed order: quick, and the same bits every time.
    double sums[4] = {};
    double square_sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= values.size(); i += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        const double x = static_cast<double>(values[i + lane]) - origin;
        sums[lane] += x;
        square_sums[lane] += x * x;
      }
    }
    for (; i < values.size(); ++i) {
      const double x = static_cast<double>(values[i]) - origin;
      sums[0] += x;
      square_sums[0] += x * x;
    }
    sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    squares += (square_sums[0] + square_sums[1]) + (square_sums[2] + square_sums[3]);
  }
};

}  // namespace

ChannelStatistics measure_channels(const Dataset& dataset, std::int64_t channels) {
  const std::int64_t elements = dataset.sample_shape().elements();
  if (holds_ids(dataset)) user_error("token ids have no mean and deviation; do not normalise them");
  if (channels == 0) channels = dataset.sample_shape()[0];
  if (channels < 1 || elements % channels != 0 || dataset.size() == 0) {
    fail("cannot measure {} channels on {} samples of shape {}", channels, dataset.size(),
         dataset.sample_shape());
  }
  const auto part = static_cast<std::size_t>(elements / channels);
  std::vector<float> image(static_cast<std::size_t>(elements));
  std::vector<float> target(static_cast<std::size_t>(dataset.target_shape().elements()));
  std::vector<Moments> moments(static_cast<std::size_t>(channels));
  for (std::int64_t index = 0; index < dataset.size(); ++index) {
    dataset.get(index, 0, {image, target});
    for (std::size_t c = 0; c < moments.size(); ++c) {
      const std::span<const float> values(image.data() + c * part, part);
      if (index == 0) moments[c].origin = values[0];
      moments[c].add(values);
    }
  }
  const double count = static_cast<double>(dataset.size()) * static_cast<double>(part);
  ChannelStatistics statistics;
  for (const Moments& m : moments) {
    // mean = origin + S1/n;  deviation^2 = S2/n - (S1/n)^2
    const double offset = m.sum / count;
    const double mean = m.origin + offset;
    const double deviation = std::sqrt(std::max(0.0, m.squares / count - offset * offset));
    const bool constant = deviation <= 1e-7 * std::max(1e-20, std::abs(mean));
    statistics.mean.push_back(static_cast<float>(mean));
    statistics.deviation.push_back(constant ? 1.0F : static_cast<float>(deviation));
  }
  return statistics;
}

Normalise::Normalise(DatasetPtr inner, const ChannelStatistics& statistics)
    : Decorator(std::move(inner)) {
  if (holds_ids(*this)) user_error("token ids cannot be normalised");
  const std::size_t channels = statistics.mean.size();
  const auto elements = static_cast<std::size_t>(sample_shape().elements());
  if (channels == 0 || statistics.deviation.size() != channels || elements % channels != 0) {
    fail("normalise: {} channels do not fit samples of shape {}", channels, sample_shape());
  }
  for (std::size_t c = 0; c < channels; ++c) {
    scale_.push_back(1.0F / statistics.deviation[c]);
    shift_.push_back(-statistics.mean[c] * scale_[c]);
  }
}

void Normalise::get(std::int64_t index, std::uint64_t epoch, Sample out) const {
  inner().get(index, epoch, out);
  const std::size_t part = out.image.size() / scale_.size();
  for (std::size_t c = 0; c < scale_.size(); ++c) {
    const float scale = scale_[c];
    const float shift = shift_[c];
    float* values = out.image.data() + c * part;
    for (std::size_t i = 0; i < part; ++i) values[i] = values[i] * scale + shift;
  }
}

}  // namespace plait::data
