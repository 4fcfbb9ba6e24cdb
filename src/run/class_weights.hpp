// Class weights of the cross-entropy loss: from the setting to one weight per class, and what the
// samples of a minibatch weigh together, whichever workers compute them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch.hpp"
#include "data/dataset.hpp"
#include "plan/task.hpp"

namespace plait::run {

struct ClassWeights {
  std::vector<float> of_class{};  ///< empty: all classes weigh alike
  /// Of the training data, in its own order; where pixels have labels, of all pixels of the sample
  /// that count. Empty: all samples weigh alike.
  std::vector<double> of_sample{};
};

/// "1,2,0.5" as numbers; none of "" and of "balanced". UserError on anything else.
std::vector<float> parse_class_weights(const std::string& text);

/// What the setting asks for. balanced: labels / (classes that occur x labels of the class), and
/// 0 for a class that does not occur. UserError where there is not one weight per class. Labels of
/// pixels give weights to samples without the setting too: as many as count.
ClassWeights class_weights(const std::string& text, const data::Dataset& train);

/// Sums of the samples' weights; their number where all weigh alike.
class MinibatchWeights {
 public:
  struct Sums {
    double whole = 0;     ///< of all samples of the minibatch
    double averaged = 0;  ///< of those whose mean gradient the updates of a worker see
  };

  /// All three outlive this object.
  MinibatchWeights(const data::BatchStream& stream, const ClassWeights& weights,
                   const plan::Samples& averaged)
      : stream_(stream), weights_(weights), averaged_(averaged) {}

  /// Of a minibatch counted over the whole run. One thread only.
  Sums of(std::int64_t minibatch) const;
  /// Of the first `batches` minibatches of an epoch.
  double epoch(std::int64_t epoch, std::int64_t batches) const;

 private:
  void sum_epoch(std::int64_t epoch) const;

  const data::BatchStream& stream_;
  const ClassWeights& weights_;
  const plan::Samples& averaged_;
  mutable std::optional<std::int64_t> epoch_;  ///< that `sums_` are of
  mutable std::vector<Sums> sums_;
};

}  // namespace plait::run
