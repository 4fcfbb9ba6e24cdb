// step_worker MODEL CxHxW BATCH THREADS: plait's side of compare_torch.py. Waits on stdin for
// orders, runs whole training steps on one made-up batch and answers with one line of JSON each:
//   go N   {"seconds": [N numbers], "loss": x, "peak_bytes": n}
//   gemm   {"gemm_gflops": x}
// The first line, unasked: {"parameters": n, "step_flops": x, "idle_bytes": n}.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "layers/onednn/gemm_peak.hpp"
#include "model/macs.hpp"
#include "model/parameters.hpp"
#include "model/shapes.hpp"
#include "model/zoo.hpp"
#include "run/serial_step.hpp"

namespace {

using namespace plait;

constexpr int kClasses = 10;

/// VmHWM (the peak) or VmRSS of this process. Not getrusage: its peak includes the parent's before
/// exec.
long long process_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long long kilobytes = 0;
    if (word == field + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  fail("/proc/self/status has no {}", field);
}

/// Forward, backward_data and backward_weights do 2 MACs each, but nobody needs the images'
/// gradient.
double step_flops(const ModelSpec& model, std::int64_t batch) {
  const BlockSpec& block = model.blocks.front();
  const Shape dst = node_shapes(block, model.input).front();
  const auto macs = static_cast<double>(model_cost(model).macs);
  const auto first = static_cast<double>(layer_macs(block.nodes.front().layer, model.input, dst));
  return 2.0 * static_cast<double>(batch) * (3 * macs - first);
}

Batch made_up_batch(const Shape& sample, std::int64_t size) {
  Batch batch{.images = Tensor(sample.with_front(size)), .targets = Tensor(Shape{size, 1})};
  Rng rng(1, Purpose::test);
  for (float& x : batch.images.floats()) x = rng.normal();
  for (float& x : batch.targets.floats()) x = static_cast<float>(rng.below(kClasses));
  return batch;
}

void serve(const std::string& name, const Shape& input, const ChainOptions& options) {
  const long long idle_bytes = process_bytes("VmRSS");
  const ModelSpec model = make_model(name, input, kClasses);
  Chain chain(model, options);
  const auto optimizer = make_optimizer({.kind = "sgd", .momentum = 0.9});
  ParameterStore parameters(chain, 1, optimizer->state_count());
  SerialStep step(chain, parameters, {});
  const Batch batch = made_up_batch(input, options.batch);
  fmt::print("{{\"parameters\": {}, \"step_flops\": {}, \"idle_bytes\": {}}}\n",
             parameter_count(model), step_flops(model, options.batch), idle_bytes);
  std::fflush(stdout);

  std::int64_t steps_done = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order;
    int count = 0;
    words >> order >> count;
    if (order == "gemm") {
      fmt::print("{{\"gemm_gflops\": {}}}\n", onednn::measure_gemm_gflops(options.threads));
    } else if (order == "go" && count > 0) {
      std::vector<double> seconds;
      double loss = 0;
      for (int i = 0; i < count; ++i) {
        const Stopwatch watch;
        loss = step.gradients(batch, {.seed = 1}).sum / static_cast<double>(options.batch);
        step.update({.optimizer = *optimizer,
                     .learning_rate = 0.01,
                     .weight_decay = 5e-4,
                     .step = ++steps_done});
        seconds.push_back(watch.seconds());
      }
      fmt::print("{{\"seconds\": [{}], \"loss\": {}, \"peak_bytes\": {}}}\n",
                 fmt::join(seconds, ", "), loss, process_bytes("VmHWM"));
    } else {
      user_error("step_worker: '{}' is no order; say 'go N' or 'gemm'", line);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5) user_error("usage: step_worker MODEL CxHxW BATCH THREADS");
    serve(argv[1], parse_shape(argv[2]),
          {.batch = std::stoll(argv[3]), .threads = std::stoi(argv[4])});
    return 0;
  } catch (const UserError& error) {
    fmt::print(stderr, "step_worker: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "step_worker: {}\n", error.what());
    return 1;
  }
}
