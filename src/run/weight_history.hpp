// WeightHistory: the versions of weights a worker's plan asks for. Version v of a block is what the
// update of minibatch v left. A range of minibatches begins with one version, that of the
// minibatch before it; older ones are not asked for (a pipeline that fills reads that one instead).
#pragma once

#include "plan/versions.hpp"
#include "run/parameters.hpp"

namespace plait::run {

class WeightHistory {
 public:
  /// The store outlives the history and always holds the newest versions.
  WeightHistory(const plan::Plan& plan, int worker, ParameterStore& store);

  /// The stored weights are the version of minibatch `first` - 1; nothing older is known.
  void begin(std::int64_t first);

  /// The weights forward or backward_data of `minibatch` with `delay` reads. What is rebuilt stays
  /// until the next call.
  const float* read(std::size_t block, std::int64_t minibatch, int delay);
  /// Where the next version of a block is to be written; may be the newest one's own memory.
  std::span<float> next(std::size_t block);
  /// The next version is complete.
  void made(std::size_t block);

  std::size_t bytes() const;

 private:
  struct Versions {
    int kept = 1;
    std::int64_t newest = -1;
    std::vector<tensor::Tensor> older;  ///< stash: all but the newest
    tensor::Tensor average;             ///< rebuilt, predicted: of about the last kept - 1 updates
    tensor::Tensor spare;               ///< all but stash: the next version while it is made

    /// Place of a version, -1 and up, in `older`.
    tensor::Tensor& place(std::int64_t version) {
      return older[static_cast<std::size_t>((version + kept - 1) % (kept - 1))];
    }
  };

  const float* predict(const Versions& of, const float* newest, std::int64_t missing);
  void note_average(Versions& of, std::span<const float> before,
                    std::span<const float> after) const;

  ParameterStore& store_;
  plan::OldWeights how_;
  std::vector<Versions> blocks_;
  std::int64_t first_ = 0;
  tensor::Tensor rebuilt_;
};

}  // namespace plait::run
