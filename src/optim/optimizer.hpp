// Optimizers: one pass over a block's flat parameters per update, by PyTorch's formulas.
// Elementwise, so the bits do not depend on the number of threads, and zero padding (with zero
// gradient and state) stays zero. The state belongs to the caller.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace plait::optim {

struct OptimizerSpec {
  std::string kind = "sgd";  // sgd, adam, adamw
  double momentum = 0;       // sgd
  bool nesterov = false;     // sgd
  double beta1 = 0.9;        // adam, adamw
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// All spans that are used have the same length and do not overlap, but `result` may be `weights`.
struct UpdateArgs {
  std::span<const float> weights = {};
  std::span<float> result = {};  // the weights after the update
  std::span<const float> gradient = {};
  std::array<std::span<float>, 2> state =
      {};  // the first state_count() are used; zero before step 1
  double learning_rate = 0;
  double weight_decay = 0;
  float gradient_scale = 1;  // the gradient is multiplied by it first: clipping, averaging
  std::int64_t step = 1;     // 1 for the first update
  int threads = 1;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::string_view name() const = 0;
  /// How many floats of state each parameter has.
  virtual int state_count() const = 0;
  virtual void update(const UpdateArgs& args) const = 0;
};

/// UserError on an unknown kind or a constant out of range.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec);

}  // namespace plait::optim
