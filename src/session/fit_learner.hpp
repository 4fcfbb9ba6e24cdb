// FitLearner: some blocks of a network alone, which learn to hit a target while nothing else moves.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "optim/optimizer.hpp"
#include "run/parameters.hpp"
#include "session/fit.hpp"

namespace plait::session {

class FitLearner {
 public:
  /// `blocks` in order; the first one reads nothing but one tensor, which alone leads into them,
  /// and the last one writes their result. Chain and store outlive it.
  FitLearner(run::Chain& chain, run::ParameterStore& store, std::vector<int> blocks,
             const FitOptions& options);

  const tensor::Tensor& forward(const tensor::Tensor& src);
  /// One step of `steps` towards `wanted` after forward(); gives |dst - wanted|^2 / |wanted|^2
  /// before it.
  double learn(const tensor::Tensor& wanted, std::int64_t step, std::int64_t steps);

 private:
  /// A block and its memory.
  struct Part {
    kernels::Block* block = nullptr;
    run::BlockMemory* parameters = nullptr;
    std::vector<int> srcs{};
    int dst = 0;
    std::shared_ptr<std::byte> saved{};
    std::shared_ptr<std::byte> pending{};
    std::unique_ptr<optim::Optimizer> optimizer{};
  };

  kernels::BlockArgs args(const Part& part);
  void backward(const Part& part);
  void update(const Part& part, double rate, std::int64_t step) const;

  std::vector<Part> parts_;
  const FitOptions& options_;
  double rate_ = 0;
  int from_ = 0;                         ///< the tensor that leads into them
  tensor::ConstView src_;                ///< its value
  std::map<int, tensor::Tensor> made_;   ///< by tensor
  std::map<int, tensor::Tensor> diffs_;  ///< gradients, by tensor
  std::map<int, bool> begun_;            ///< by tensor: there is a gradient to add to
  std::shared_ptr<std::byte> scratch_;
};

}  // namespace plait::session
