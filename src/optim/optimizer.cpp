// SGD and Adam(W) in chunks, vectorised by the compiler.
#include "optim/optimizer.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/rounding.hpp"

namespace plait::optim {

namespace {

/// Parameters per piece of work: small enough to share out evenly, large enough to be worth a loop.
constexpr std::int64_t kChunk = 1 << 14;

/// body(begin, end) over [0, count).
template <class Body>
void in_chunks(std::int64_t count, int threads, const Body& body) {
  const std::int64_t chunks = divide_up(count, kChunk);
  const int team =
      static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(chunks, 1)));
  if (team == 1) {
    body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    body(chunk * kChunk, std::min(count, (chunk + 1) * kChunk));
  }
}

void check_lengths(const UpdateArgs& args, int states) {
  bool equal = args.gradient.size() == args.weights.size() &&
               args.result.size() == args.weights.size() && args.step >= 1;
  for (int i = 0; i < states; ++i) equal = equal && args.state[i].size() == args.weights.size();
  if (!equal) {
    fail("update of {} weights at step {}: {} gradients, {} and {} state values",
         args.weights.size(), args.step, args.gradient.size(), args.state[0].size(),
         args.state[1].size());
  }
}

/// In place. By hand because std::sqrt sets errno, which keeps compilers from vectorising it; every
/// form of it rounds alike.
void square_roots(float* values, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __SSE2__
  for (; i + 4 <= count; i += 4) _mm_storeu_ps(values + i, _mm_sqrt_ps(_mm_loadu_ps(values + i)));
#endif
  for (; i < count; ++i) values[i] = std::sqrt(values[i]);
}

class Sgd : public Optimizer {
 public:
  Sgd(double momentum, bool nesterov) : momentum_(momentum), nesterov_(nesterov) {}

  std::string_view name() const override { return "sgd"; }
  int state_count() const override { return momentum_ == 0 ? 0 : 1; }

  void update(const UpdateArgs& args) const override {
    check_lengths(args, state_count());
    if (momentum_ == 0) {
      run<Form::plain>(args);
    } else if (args.step == 1) {
      nesterov_ ? run<Form::nesterov_first>(args) : run<Form::momentum_first>(args);
    } else {
      nesterov_ ? run<Form::nesterov>(args) : run<Form::momentum>(args);
    }
  }

 private:
  enum class Form { plain, momentum_first, momentum, nesterov_first, nesterov };

  //   d = g + decay w;   buf = d at the first step, then m buf + d
  //   w = w - lr (d | buf | d + m buf)
  template <Form form>
  void run(const UpdateArgs& args) const {
    const float* const weights = args.weights.data();
    float* const result = args.result.data();
    const float* const gradient = args.gradient.data();
    float* const buffer = args.state[0].data();
    const float scale = args.gradient_scale;
    const auto decay = static_cast<float>(args.weight_decay);
    const auto momentum = static_cast<float>(momentum_);
    const auto rate = static_cast<float>(args.learning_rate);
    const auto count = static_cast<std::int64_t>(args.weights.size());
    in_chunks(count, args.threads, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        float d = gradient[i] * scale + decay * weights[i];
        if constexpr (form != Form::plain) {
          constexpr bool first = form == Form::momentum_first || form == Form::nesterov_first;
          constexpr bool nesterov = form == Form::nesterov || form == Form::nesterov_first;
          const float b = first ? d : momentum * buffer[i] + d;
          buffer[i] = b;
          d = nesterov ? d + momentum * b : b;
        }
        result[i] = weights[i] - rate * d;
      }
    });
  }

  double momentum_;
  bool nesterov_;
};

class Adam : public Optimizer {
 public:
  Adam(const OptimizerSpec& spec, bool decoupled) : spec_(spec), decoupled_(decoupled) {}

  std::string_view name() const override { return decoupled_ ? "adamw" : "adam"; }
  int state_count() const override { return 2; }

  //   adam: g = g + decay w;   adamw: w = (1 - lr decay) w
  //   m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g g
  //   w = w - lr / (1 - b1^t)  m / (sqrt(v) / sqrt(1 - b2^t) + eps)
  void update(const UpdateArgs& args) const override {
    check_lengths(args, state_count());
    const auto step = static_cast<double>(args.step);
    const double correction1 = 1 - std::pow(spec_.beta1, step);
    const double correction2 = 1 - std::pow(spec_.beta2, step);
    const float* const weights = args.weights.data();
    float* const result = args.result.data();
    const float* const gradient = args.gradient.data();
    float* const first = args.state[0].data();
    float* const second = args.state[1].data();
    const float scale = args.gradient_scale;
    const auto added_decay = static_cast<float>(decoupled_ ? 0 : args.weight_decay);
    const auto shrink =
        static_cast<float>(decoupled_ ? 1 - args.learning_rate * args.weight_decay : 1);
    const auto beta1 = static_cast<float>(spec_.beta1);
    const auto beta2 = static_cast<float>(spec_.beta2);
    const auto rest1 = static_cast<float>(1 - spec_.beta1);
    const auto rest2 = static_cast<float>(1 - spec_.beta2);
    const auto root = static_cast<float>(std::sqrt(correction2));
    const auto epsilon = static_cast<float>(spec_.epsilon);
    const auto rate = static_cast<float>(args.learning_rate / correction1);
    const auto count = static_cast<std::int64_t>(args.weights.size());
    in_chunks(count, args.threads, [=](std::int64_t chunk_begin, std::int64_t chunk_end) {
      constexpr std::int64_t block = 512;  // stays in the first cache between the two loops
      float roots[block];
      for (std::int64_t begin = chunk_begin; begin < chunk_end; begin += block) {
        const std::int64_t size = std::min(block, chunk_end - begin);
#pragma omp simd
        for (std::int64_t i = 0; i < size; ++i) {
          const std::int64_t at = begin + i;
          const float g = gradient[at] * scale + added_decay * weights[at];
          const float v = beta2 * second[at] + rest2 * g * g;
          first[at] = beta1 * first[at] + rest1 * g;
          second[at] = v;
          roots[i] = v;
        }
        square_roots(roots, size);
#pragma omp simd
        for (std::int64_t i = 0; i < size; ++i) {
          const std::int64_t at = begin + i;
          result[at] = shrink * weights[at] - rate * (first[at] / (roots[i] / root + epsilon));
        }
      }
    });
  }

 private:
  OptimizerSpec spec_;
  bool decoupled_;
};

void check_fraction(const char* name, double value) {
  if (!(value >= 0 && value < 1))
    user_error("{} is {}; it must be at least 0 and below 1", name, value);
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec) {
  if (spec.kind == "sgd") {
    check_fraction("momentum", spec.momentum);
    if (spec.nesterov && spec.momentum == 0) {
      user_error("nesterov needs a momentum above 0, for example 0.9");
    }
    return std::make_unique<Sgd>(spec.momentum, spec.nesterov);
  }
  if (spec.kind == "adam" || spec.kind == "adamw") {
    check_fraction("beta1", spec.beta1);
    check_fraction("beta2", spec.beta2);
    // The bound: it must survive as a float, or padding becomes 0 / 0.
    if (!(spec.epsilon >= 1e-30 && std::isfinite(spec.epsilon))) {
      user_error("epsilon is {}; it must be at least 1e-30, for example 1e-8", spec.epsilon);
    }
    return std::make_unique<Adam>(spec, spec.kind == "adamw");
  }
  user_error("unknown optimizer '{}'{}; known are sgd, adam and adamw", spec.kind,
             did_you_mean(spec.kind, {"sgd", "adam", "adamw"}));
}

}  // namespace plait::optim
