// Cross-entropy and mean squared error with their gradients, class weights and label smoothing;
// sums in double.
#include "optim/loss.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plait::optim {

namespace {

struct Size {
  std::int64_t samples = 0;
  double scale = 0;
};

Size check_batch(const LossBatch& batch, std::span<float> diff_logits) {
  const auto logits = static_cast<std::int64_t>(batch.logits.size());
  if (batch.classes < 1 || logits % batch.classes != 0 ||
      (!diff_logits.empty() && diff_logits.size() != batch.logits.size())) {
    fail("loss of {} logits in {} classes with room for {} gradients", logits, batch.classes,
         diff_logits.size());
  }
  const std::int64_t samples = logits / batch.classes;
  const double mean = samples == 0 ? 0 : 1 / static_cast<double>(samples);
  return {samples, batch.scale == 0 ? mean : batch.scale};
}

std::int64_t class_of(const LossBatch& batch, std::int64_t sample) {
  const float label = batch.targets[static_cast<std::size_t>(sample)];
  const bool inside = label >= 0 && label < static_cast<float>(batch.classes);
  if (!inside || label != std::floor(label)) {
    user_error(
        "sample {} of the batch has the label {}, but the network tells {} classes (0 to {})",
        sample, label, batch.classes, batch.classes - 1);
  }
  return static_cast<std::int64_t>(label);
}

/// The first largest; -1 when one is NaN.
std::int64_t largest(const float* values, std::int64_t count) {
  std::int64_t best = 0;
  bool nan = false;
  for (std::int64_t k = 0; k < count; ++k) {
    nan = nan || std::isnan(values[k]);
    if (values[k] > values[best]) best = k;
  }
  return nan ? -1 : best;
}

}  // namespace

namespace {

/// With class weights, where one weight stands for all samples of a class.
class WeightedTargets {
 public:
  WeightedTargets(const LossBatch& batch, double smoothing)
      : weights_(batch.class_weights), smoothing_(smoothing) {
    if (!empty() && static_cast<std::int64_t>(weights_.size()) != batch.classes) {
      fail("cross-entropy of {} classes with {} class weights", batch.classes, weights_.size());
    }
    for (const float weight : weights_) sum_ += weight;
  }
  bool empty() const { return weights_.empty(); }
  double of(std::int64_t label) const { return weights_[static_cast<std::size_t>(label)]; }
  /// q_k of a sample of class `label`.
  double wanted(std::int64_t k, std::int64_t label) const {
    const double spread = smoothing_ * of(k) / static_cast<double>(weights_.size());
    return k == label ? spread + (1 - smoothing_) * of(label) : spread;
  }
  /// The sum of all q_k.
  double all(std::int64_t label) const {
    return smoothing_ * sum_ / static_cast<double>(weights_.size()) + (1 - smoothing_) * of(label);
  }

 private:
  std::span<const float> weights_;
  double smoothing_;
  double sum_ = 0;
};

double weight_of_labels(const LossBatch& batch, const WeightedTargets& weights,
                        std::int64_t samples) {
  double sum = 0;
  for (std::int64_t n = 0; n < samples; ++n) sum += weights.of(class_of(batch, n));
  return sum;
}

}  // namespace

LossResult cross_entropy(const LossBatch& batch, double label_smoothing,
                         std::span<float> diff_logits) {
  Size size = check_batch(batch, diff_logits);
  const std::int64_t classes = batch.classes;
  if (static_cast<std::int64_t>(batch.targets.size()) != size.samples) {
    fail("cross-entropy of {} samples with {} labels", size.samples, batch.targets.size());
  }
  const WeightedTargets weights(batch, label_smoothing);
  if (!weights.empty() && batch.scale == 0) {
    const double sum = weight_of_labels(batch, weights, size.samples);
    size.scale = sum > 0 ? 1 / sum : 0;
  }
  const double spread = label_smoothing / static_cast<double>(classes);
  LossResult result;
  for (std::int64_t n = 0; n < size.samples; ++n) {
    const float* const x = batch.logits.data() + n * classes;
    const std::int64_t label = class_of(batch, n);
    // The shift by the maximum keeps exp() from overflowing. A NaN passes the maximum by, but not
    // the sums.
    float top = -std::numeric_limits<float>::infinity();
    for (std::int64_t k = 0; k < classes; ++k) top = x[k] > top ? x[k] : top;
    double sum_exp = 0;
    double sum_shifted = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      const double shifted = static_cast<double>(x[k]) - top;
      sum_exp += std::exp(shifted);
      sum_shifted += shifted;
    }
    const double log_sum = std::log(sum_exp);
    double loss = (1 - label_smoothing) * (log_sum - (static_cast<double>(x[label]) - top));
    if (label_smoothing > 0) {
      loss += spread * (static_cast<double>(classes) * log_sum - sum_shifted);
    }
    if (!weights.empty()) {
      loss = 0;
      for (std::int64_t k = 0; k < classes; ++k) {
        const double wanted = weights.wanted(k, label);
        if (wanted > 0) loss += wanted * (log_sum - (static_cast<double>(x[k]) - top));
      }
      loss += std::isnan(log_sum) ? log_sum : 0;  // also where the label has no weight
    }
    result.sum += loss;
    result.correct += largest(x, classes) == label ? 1 : 0;

    if (diff_logits.empty()) continue;
    float* const diff = diff_logits.data() + n * classes;
    for (std::int64_t k = 0; k < classes; ++k) {
      const double softmax = std::exp(static_cast<double>(x[k]) - top - log_sum);
      if (!weights.empty()) {
        const double error = softmax * weights.all(label) - weights.wanted(k, label);
        diff[k] = static_cast<float>(size.scale * error);
        continue;
      }
      const double wanted = spread + (k == label ? 1 - label_smoothing : 0);
      diff[k] = static_cast<float>(size.scale * (softmax - wanted));
    }
  }
  return result;
}

LossResult mean_squared_error(const LossBatch& batch, std::span<float> diff_logits) {
  const Size size = check_batch(batch, diff_logits);
  const std::int64_t classes = batch.classes;
  const bool values = batch.targets.size() == batch.logits.size();
  if (!values && static_cast<std::int64_t>(batch.targets.size()) != size.samples) {
    fail("mean squared error of {} samples of {} values with {} targets", size.samples, classes,
         batch.targets.size());
  }
  LossResult result;
  for (std::int64_t n = 0; n < size.samples; ++n) {
    const float* const x = batch.logits.data() + n * classes;
    const float* const row = values ? batch.targets.data() + n * classes : nullptr;
    const std::int64_t label = values ? largest(row, classes) : class_of(batch, n);
    double squares = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      const double wanted = values ? row[k] : k == label ? 1 : 0;
      const double error = x[k] - wanted;
      squares += error * error;
      if (!diff_logits.empty()) {
        diff_logits[static_cast<std::size_t>(n * classes + k)] =
            static_cast<float>(size.scale * 2 * error / static_cast<double>(classes));
      }
    }
    result.sum += squares / static_cast<double>(classes);
    result.correct += classes > 1 && label >= 0 && largest(x, classes) == label ? 1 : 0;
  }
  return result;
}

void check_loss(const LossSpec& spec) {
  if (spec.kind != "cross_entropy" && spec.kind != "mse") {
    user_error("unknown loss '{}'{}; known are cross_entropy and mse", spec.kind,
               did_you_mean(spec.kind, {"cross_entropy", "mse"}));
  }
  if (!(spec.label_smoothing >= 0 && spec.label_smoothing <= 1)) {
    user_error("label_smoothing is {}; it must be from 0 to 1", spec.label_smoothing);
  }
  for (const float weight : spec.class_weights) {
    if (!(weight >= 0 && std::isfinite(weight))) {
      user_error("class_weights has {}; a weight must be a number that is not negative", weight);
    }
  }
  if (spec.kind == "mse" && !spec.class_weights.empty()) {
    user_error("class_weights are given, but the loss mse has none; use cross_entropy");
  }
  if (spec.kind == "mse" && spec.label_smoothing != 0) {
    user_error("label_smoothing is {}, but the loss mse has none; use cross_entropy",
               spec.label_smoothing);
  }
}

LossResult compute_loss(const LossSpec& spec, const LossBatch& batch,
                        std::span<float> diff_logits) {
  if (spec.kind == "mse") return mean_squared_error(batch, diff_logits);
  LossBatch weighted = batch;
  weighted.class_weights = spec.class_weights;
  return cross_entropy(weighted, spec.label_smoothing, diff_logits);
}

}  // namespace plait::optim
