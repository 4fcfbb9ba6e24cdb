// Evaluation of a chain on a data set, in the chain's batch size.
#pragma once

#include <optional>

#include "data/dataset.hpp"
#include "optim/loss.hpp"
#include "run/workspace.hpp"

namespace plait {

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;  ///< none for regression
  std::int64_t samples = 0;
};

class Evaluator {
 public:
  Evaluator(Chain& chain, DatasetPtr data, LossSpec loss);
  /// Samples in order; the last batch is filled up with repeated samples that do not count.
  Evaluation run(ParameterStore& parameters);
  std::size_t bytes() const { return workspace_.bytes(); }

 private:
  Chain& chain_;
  DatasetPtr data_;
  LossSpec loss_;
  Workspace workspace_;
  Tensor images_;
  Tensor targets_;
};

}  // namespace plait
