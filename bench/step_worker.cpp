// step_worker MODEL CxHxW BATCH THREADS [WORKERS]: plait's side of the comparisons with PyTorch.
// Waits on stdin for orders, runs whole training steps on one made-up batch and answers with one
// line of JSON each:
//   go N   {"seconds": [N numbers], "loss": x, "peak_bytes": n}
//   gemm   {"gemm_gflops": x}
// The first line, unasked: {"parameters": n, "step_flops": x, "idle_bytes": n}.
// Several WORKERS (1) share the BATCH by data_parallel, each with THREADS on cores of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "layers/onednn/gemm_peak.hpp"
#include "model/macs.hpp"
#include "model/parameters.hpp"
#include "model/shapes.hpp"
#include "model/zoo.hpp"
#include "run/cores.hpp"
#include "run/solo_worker.hpp"
#include "strategy/strategy.hpp"

namespace {

using namespace plait;

constexpr int kClasses = 10;
constexpr double kLearningRate = 0.01;

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

/// What is measured: so many `workers` with `threads` each on minibatches of `batch` samples.
struct Subject {
  ModelSpec model;
  Network network;
  std::int64_t batch = 0;
  int threads = 1;
  int workers = 1;
  long long idle_bytes = 0;  ///< of the process, before it made a network
};

/// What an order to go brought.
struct Steps {
  std::vector<double> seconds{};
  double loss = 0;  ///< of the last step, mean over the minibatch
};

Batch made_up_batch(const Shape& sample, std::int64_t size, int seed) {
  Batch batch{.images = Tensor(sample.with_front(size)), .targets = Tensor(Shape{size, 1})};
  Rng rng(static_cast<std::uint64_t>(seed), Purpose::test);
  for (float& x : batch.images.floats()) x = rng.normal();
  for (float& x : batch.targets.floats()) x = static_cast<float>(rng.below(kClasses));
  return batch;
}

Plan plan_of(const Subject& subject, const std::string& strategy) {
  const Machine machine{.workers_per_node = subject.workers};
  return make_plan(strategy,
                   {.network = subject.network, .machine = machine, .batch = subject.batch});
}

WorkerOptions options_of(const Subject& subject, int rank) {
  return {.rank = rank,
          .threads = subject.threads,
          .optimizer = {.kind = "sgd", .momentum = 0.9},
          .weight_decay = 5e-4};
}

/// Answers orders until there are no more.
void serve(const Subject& subject, const std::function<Steps(int count)>& go) {
  fmt::print("{{\"parameters\": {}, \"step_flops\": {}, \"idle_bytes\": {}}}\n",
             parameter_count(subject.model), step_flops(subject.model, subject.batch),
             subject.idle_bytes);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order;
    int count = 0;
    words >> order >> count;
    if (order == "gemm") {
      fmt::print("{{\"gemm_gflops\": {}}}\n", onednn::measure_gemm_gflops(subject.threads));
    } else if (order == "go" && count > 0) {
      const Steps steps = go(count);
      fmt::print("{{\"seconds\": [{}], \"loss\": {}, \"peak_bytes\": {}}}\n",
                 fmt::join(steps.seconds, ", "), steps.loss, process_bytes("VmHWM"));
    } else {
      user_error("'{}' is no order; say 'go N' or 'gemm'", line);
    }
    std::fflush(stdout);
  }
}

void serve_alone(const Subject& subject) {
  SoloWorker worker(plan_of(subject, "serial"), options_of(subject, 0));
  const Batch batch = made_up_batch(subject.model.input, subject.batch, 1);
  serve(subject, [&](int count) {
    Steps steps;
    for (int i = 0; i < count; ++i) {
      const Stopwatch watch;
      steps.loss = worker.step(batch, kLearningRate).sum / static_cast<double>(subject.batch);
      steps.seconds.push_back(watch.seconds());
    }
    return steps;
  });
}

/// One of several workers, on its own thread. Worker 0 hears the orders and passes them on.
class TeamMember {
 public:
  TeamMember(const Subject& subject, const Plan& plan, ThreadWorld& world, int rank)
      : subject_(subject),
        group_(world.group(rank)),
        control_(world.control_group(rank)),
        batch_(made_up_batch(subject.model.input, subject.batch / subject.workers, rank + 1)),
        worker_(plan, options_of(subject, rank),
                {.group = *group_,
                 .trace = trace_,
                 .status = status_of(world.board(), rank),
                 .next_batch = [this](Batch& batch) { batch = batch_; },
                 .minibatch =
                     [this](std::int64_t) {
                       return Minibatch{.samples = subject_.batch, .learning_rate = kLearningRate};
                     }}) {}

  void run() {
    if (control_->rank() == 0) {
      serve(subject_, [this](int count) {
        pass_on(count);
        return go(count);
      });
      pass_on(0);
    } else {
      while (const int count = pass_on(0)) go(count);
    }
  }

 private:
  /// What worker 0 gives, on every worker.
  int pass_on(int count) {
    control_->broadcast(std::as_writable_bytes(std::span(&count, 1)), 0);
    return count;
  }

  Steps go(int count) {
    Steps steps;
    double mine = 0;
    control_->barrier();
    for (int i = 0; i < count; ++i, ++step_) {
      const Stopwatch watch;
      worker_.play(step_, {step_, step_ + 1});
      mine = worker_.take_losses().front().loss.sum;
      steps.seconds.push_back(watch.seconds());
    }
    std::vector<double> all(static_cast<std::size_t>(subject_.workers));
    control_->all_gather(std::as_bytes(std::span(&mine, 1)),
                         std::as_writable_bytes(std::span(all)));
    for (const double one : all) steps.loss += one / static_cast<double>(subject_.batch);
    return steps;
  }

  const Subject& subject_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Group> control_;
  Batch batch_;
  WorkerTrace trace_;
  Worker worker_;
  std::int64_t step_ = 0;
};

void serve_together(const Subject& subject) {
  if (subject.workers < 1 || subject.batch % subject.workers != 0) {
    user_error("BATCH {} cannot be shared evenly by WORKERS {}", subject.batch, subject.workers);
  }
  const Plan plan = plan_of(subject, "data_parallel");
  ThreadWorld world({.members_per_node = subject.workers, .board_bytes = kStatusBytes});
  run_members(world, [&](int rank) {
    pin_this_thread(
        {.mode = "cores", .place = rank, .workers = subject.workers, .threads = subject.threads});
    TeamMember(subject, plan, world, rank).run();
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5 && argc != 6) {
      user_error("usage: step_worker MODEL CxHxW BATCH THREADS [WORKERS]");
    }
    Subject subject{.model = {},
                    .network = {},
                    .batch = std::stoll(argv[3]),
                    .threads = std::stoi(argv[4]),
                    .workers = argc == 6 ? std::stoi(argv[5]) : 1,
                    .idle_bytes = process_bytes("VmRSS")};
    subject.model = make_model(argv[1], parse_shape(argv[2]), kClasses);
    subject.network = make_network(subject.model);
    if (subject.workers == 1) {
      serve_alone(subject);
    } else {
      serve_together(subject);
    }
    return 0;
  } catch (const UserError& error) {
    fmt::print(stderr, "step_worker: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "step_worker: {}\n", error.what());
    return 1;
  }
}
