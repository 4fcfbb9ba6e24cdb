// Cross-entropy and mean squared error with their gradients, class weights and label smoothing;
// sums in double.
#include "optim/loss.hpp"

#include <algorithm>
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

/// -1 for a pixel that does not count.
std::int64_t class_of(const LossBatch& batch, std::int64_t place) {
  const float label = batch.targets[static_cast<std::size_t>(place)];
  if (batch.pixels > 0 && label < 0) return -1;
  const bool inside = label >= 0 && label < static_cast<float>(batch.classes);
  if (!inside || label != std::floor(label)) {
    const std::string pixel =
        batch.pixels > 0 ? fmt::format("pixel {} of ", place % batch.pixels) : "";
    user_error(
        "{}sample {} of the batch has the label {}, but the network tells {} classes (0 to {})",
        pixel, batch.pixels > 0 ? place / batch.pixels : place, label, batch.classes,
        batch.classes - 1);
  }
  return static_cast<std::int64_t>(label);
}

/// The first largest of `count` values that lie `stride` apart; -1 when one is NaN.
std::int64_t largest(const float* values, std::int64_t count, std::int64_t stride = 1) {
  std::int64_t best = 0;
  bool nan = false;
  for (std::int64_t k = 0; k < count; ++k) {
    nan = nan || std::isnan(values[k * stride]);
    if (values[k * stride] > values[best * stride]) best = k;
  }
  return nan ? -1 : best;
}

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

/// What the labels weigh together; each 1 without class weights. Refuses wrong labels.
double weight_of_labels(const LossBatch& batch, const WeightedTargets& weights) {
  double sum = 0;
  for (std::int64_t n = 0; n < std::ssize(batch.targets); ++n) {
    const std::int64_t label = class_of(batch, n);
    if (label >= 0) sum += weights.empty() ? 1 : weights.of(label);
  }
  return sum;
}

class CrossEntropy {
 public:
  CrossEntropy(const LossBatch& batch, double label_smoothing, std::span<float> diff_logits)
      : batch_(batch),
        size_(check_batch(batch, diff_logits)),
        weights_(batch, label_smoothing),
        smoothing_(label_smoothing),
        stride_(std::max<std::int64_t>(1, batch.pixels)),
        diff_(diff_logits) {
    if (std::ssize(batch.targets) != size_.samples || size_.samples % stride_ != 0) {
      fail("cross-entropy of {} samples with {} labels", size_.samples, batch.targets.size());
    }
    const double sum = weight_of_labels(batch, weights_);
    if (batch.scale == 0) size_.scale = sum > 0 ? 1 / sum : 0;
  }

  /// Images are divided over the threads; every sum has the same order for any number of them.
  LossResult all() const {
    const std::int64_t images = size_.samples / stride_;
    std::vector<LossResult> parts(static_cast<std::size_t>(images));
#pragma omp parallel for schedule(static) if (stride_ > 1)
    for (std::int64_t n = 0; n < images; ++n) parts[static_cast<std::size_t>(n)] = image(n);
    LossResult result;
    for (const LossResult& one : parts) {
      result.sum += one.sum;
      result.correct += one.correct;
      result.counted += one.counted;
    }
    return result;
  }

 private:
  LossResult image(std::int64_t n) const {
    LossResult result;
    for (std::int64_t pixel = 0; pixel < stride_; ++pixel) {
      const std::int64_t label = class_of(batch_, n * stride_ + pixel);
      const std::int64_t first = n * batch_.classes * stride_ + pixel;
      float* const diff = diff_.empty() ? nullptr : diff_.data() + first;
      if (label < 0) {
        for (std::int64_t k = 0; diff != nullptr && k < batch_.classes; ++k) diff[k * stride_] = 0;
        continue;
      }
      const float* const x = batch_.logits.data() + first;
      result.sum += place(x, label, diff);
      result.correct += largest(x, batch_.classes, stride_) == label ? 1 : 0;
      ++result.counted;
    }
    return result;
  }

  /// The loss of one place; its gradient unless `diff` is null.
  double place(const float* x, std::int64_t label, float* diff) const {
    const std::int64_t classes = batch_.classes;
    const double spread = smoothing_ / static_cast<double>(classes);
    // The shift by the maximum keeps exp() from overflowing. A NaN passes the maximum by, but not
    // the sums.
    float top = -std::numeric_limits<float>::infinity();
    for (std::int64_t k = 0; k < classes; ++k) top = x[k * stride_] > top ? x[k * stride_] : top;
    const auto shifted = [&](std::int64_t k) { return static_cast<double>(x[k * stride_]) - top; };
    double sum_exp = 0;
    double sum_shifted = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      sum_exp += std::exp(shifted(k));
      sum_shifted += shifted(k);
    }
    const double log_sum = std::log(sum_exp);
    double loss = (1 - smoothing_) * (log_sum - shifted(label));
    if (smoothing_ > 0) loss += spread * (static_cast<double>(classes) * log_sum - sum_shifted);
    if (!weights_.empty()) {
      loss = 0;
      for (std::int64_t k = 0; k < classes; ++k) {
        const double wanted = weights_.wanted(k, label);
        if (wanted > 0) loss += wanted * (log_sum - shifted(k));
      }
      loss += std::isnan(log_sum) ? log_sum : 0;  // also where the label has no weight
    }
    for (std::int64_t k = 0; diff != nullptr && k < classes; ++k) {
      const double softmax = std::exp(shifted(k) - log_sum);
      const double error = weights_.empty()
                               ? softmax - (spread + (k == label ? 1 - smoothing_ : 0))
                               : softmax * weights_.all(label) - weights_.wanted(k, label);
      diff[k * stride_] = static_cast<float>(size_.scale * error);
    }
    return loss;
  }

  const LossBatch& batch_;
  Size size_;
  WeightedTargets weights_;
  double smoothing_;
  std::int64_t stride_;  ///< between the logits of a place: its image's pixels
  std::span<float> diff_;
};

}  // namespace

LossResult cross_entropy(const LossBatch& batch, double label_smoothing,
                         std::span<float> diff_logits) {
  return CrossEntropy(batch, label_smoothing, diff_logits).all();
}

LossResult mean_squared_error(const LossBatch& batch, std::span<float> diff_logits) {
  const Size size = check_batch(batch, diff_logits);
  const std::int64_t classes = batch.classes;
  const bool values = batch.targets.size() == batch.logits.size();
  if (batch.pixels > 0) fail("mean squared error has no labels of pixels");
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
    ++result.counted;
    result.correct += classes > 1 && label >= 0 && largest(x, classes) == label ? 1 : 0;
  }
  return result;
}

std::int64_t labels_within(const LossBatch& batch, int count) {
  const std::int64_t samples = check_batch(batch, {}).samples;
  std::int64_t within = 0;
  for (std::int64_t n = 0; n < samples; ++n) {
    const float* x = batch.logits.data() + n * batch.classes;
    const std::int64_t label = class_of(batch, n);
    std::int64_t before = largest(x, batch.classes) < 0 ? count : 0;  // a NaN has no order
    for (std::int64_t k = 0; k < batch.classes; ++k) {
      if (x[k] > x[label] || (x[k] == x[label] && k < label)) ++before;
    }
    if (before < count) ++within;
  }
  return within;
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
