// Losses on a batch of logits, by PyTorch's definitions: softmax cross-entropy with label
// smoothing, and mean squared error. Plain functions; a NaN among the logits is a NaN in the loss.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plait::optim {

struct LossSpec {
  std::string kind = "cross_entropy";  // cross_entropy, mse
  double label_smoothing = 0;          // cross_entropy
  std::vector<float> class_weights{};  // cross_entropy: one per class; empty: all 1
};

struct LossBatch {
  std::span<const float> logits = {};  // [samples, classes]
  std::span<const float> targets =
      {};  // [samples] class indices; or values [samples, classes], MSE only
  std::int64_t classes = 0;
  std::span<const float> class_weights = {};  // cross-entropy: one per class; empty: all 1
  /// What each sample's gradient is multiplied by; 0 means 1 / samples, with class weights 1 / (sum
  /// of the samples' weights). A shard of a larger batch gives that of the whole batch.
  double scale = 0;
  /// Cross-entropy with a label per pixel: so many of each sample, logits [samples, classes,
  /// pixels] and targets [samples, pixels]. Each pixel then is a sample of the formulas; one with a
  /// label below 0 does not count. 0: one label per sample, and each counts.
  std::int64_t pixels = 0;
};

struct LossResult {
  double sum = 0;            // over the samples, unscaled: the batch's mean loss is sum / samples,
                             // with class weights sum / (sum of the samples' weights)
  std::int64_t correct = 0;  // samples whose largest logit (the first of equals) is the target's;
                             // never one with a NaN, never with one value per sample
  std::int64_t counted = 0;  // samples; of pixels those that count
};

/// Per sample, with q = (1 - s) onehot(target) + s / K:   loss = -sum_k q_k log softmax(x)_k
///   diff_logits = scale (softmax(x) - q). Empty `diff_logits`: the loss only.
/// With class weights w, of a sample of class y:  q = (1 - s) w_y onehot(y) + s w / K   and
///   diff_logits = scale (softmax(x) sum_k q_k - q).
/// UserError names the sample of a label that is no class.
LossResult cross_entropy(const LossBatch& batch, double label_smoothing,
                         std::span<float> diff_logits = {});

/// Per sample:   loss = sum_k (x_k - y_k)^2 / K;   diff_logits = scale 2 (x - y) / K.
/// Class indices stand for one-hot rows (with K = 1, `targets` are values).
LossResult mean_squared_error(const LossBatch& batch, std::span<float> diff_logits = {});

/// Samples whose label is among the `count` largest logits; of equal ones the first come first.
/// Never one with a NaN. One label per sample.
std::int64_t labels_within(const LossBatch& batch, int count);

/// UserError on an unknown kind or a smoothing out of range.
void check_loss(const LossSpec& spec);

/// The one that `spec` names, with its class weights.
LossResult compute_loss(const LossSpec& spec, const LossBatch& batch,
                        std::span<float> diff_logits = {});

}  // namespace plait::optim
