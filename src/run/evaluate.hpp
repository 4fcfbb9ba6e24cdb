// Evaluation of a chain on a data set, or on one worker's part of it, in the chain's batch size.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/batch.hpp"
#include "optim/class_areas.hpp"
#include "optim/loss.hpp"
#include "run/workspace.hpp"

namespace plait::run {

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;  ///< none for regression; of pixels where these have labels
  std::optional<double> top5{};    ///< the label is one of five answers; of more than 5 classes
  std::optional<double> miou{};    ///< mean intersection over union, where pixels have labels
  std::int64_t samples = 0;
  std::vector<Residual> residuals{};  ///< of the differences of the network, if it has any
};

/// Sums over samples; those of the workers add up to the whole.
struct EvaluationSums {
  double loss = 0;
  std::int64_t correct = 0;
  std::int64_t in_five = 0;  ///< labels among the five largest answers
  std::int64_t samples = 0;
  std::int64_t counted = 0;   ///< samples, or pixels with a label that counts
  optim::ClassAreas areas{};  ///< empty where samples have labels

  EvaluationSums& operator+=(const EvaluationSums& other);
  /// As numbers that can be sent, and back. All counts are below 2^53.
  std::vector<double> numbers() const;
  static EvaluationSums from(std::span<const double> numbers);
};

/// Takes what the network computes for the samples of a batch, one after the other.
using OutputSink = std::function<void(std::span<const float>)>;

/// `classes` 0: regression, no accuracy.
Evaluation to_evaluation(const EvaluationSums& sums, int classes);

class Evaluator {
 public:
  Evaluator(Chain& chain, data::DatasetPtr data, optim::LossSpec loss);

  struct Part {
    std::int64_t first = 0;
    std::int64_t last = 0;         ///< one behind
    std::function<void()> tick{};  ///< after each batch
    OutputSink outputs{};
  };
  /// Samples in order; the last batch is filled up with repeated samples that do not count.
  EvaluationSums run(ParameterStore& parameters, const Part& part);
  Evaluation run(ParameterStore& parameters, const OutputSink& outputs = {});

 private:
  Chain& chain_;
  data::DatasetPtr data_;
  optim::LossSpec loss_;
  Workspace workspace_;
  data::SampleMemory samples_;
};

}  // namespace plait::run
