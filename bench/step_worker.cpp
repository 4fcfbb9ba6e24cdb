// step_worker MODEL CxHxW BATCH THREADS [WORKERS [STRATEGY [MICROBATCHES [MODE [PROFILE]]]]]:
// plait's side of the comparisons. Waits on stdin for orders, runs whole training steps on one
// made-up batch and answers with one line of JSON each:
//   go N   {"seconds": [N numbers], "loss": x, "peak_bytes": n}
//   gemm   {"gemm_gflops": x}
// The first line, unasked: {"parameters": n, "step_flops": x, "idle_bytes": n, "depth": n,
// "staleness": n, "bytes_per_step": n}; the last three are the plan's.
// Several WORKERS (1) share the BATCH, each with THREADS on cores of its own, by the plan that
// plait plan makes of STRATEGY (serial alone, else data_parallel), MICROBATCHES (1), MODE (sync)
// and the costs of PROFILE (counted).
// A plan with offsets is filled and drained at each go; the seconds are of the steps between, and
// at least 8.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"
#include "cost/measured.hpp"
#include "graph/macs.hpp"
#include "graph/model_file.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "kernels/onednn/gemm_peak.hpp"
#include "run/cores.hpp"
#include "run/solo_worker.hpp"
#include "strategy/strategy.hpp"

namespace {

using namespace plait;

constexpr int kClasses = 10;
constexpr double kLearningRate = 0.01;
constexpr plan::Link kInside{.bytes_per_second = 10e9, .latency_seconds = 2e-6};  // as plait plan's
constexpr int kFewestSteadySteps = 8;

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
double step_flops(const graph::ModelSpec& model, std::int64_t batch) {
  const graph::BlockSpec& block = model.blocks.front();
  const tensor::Shape dst = graph::node_shapes(block, model.input).front();
  const auto macs = static_cast<double>(graph::model_cost(model).macs);
  const auto first = static_cast<double>(ops::macs_of(block.nodes.front().layer, model.input, dst));
  return 2.0 * static_cast<double>(batch) * (3 * macs - first);
}

/// What is measured: so many `workers` with `threads` each on minibatches of `batch` samples.
struct Subject {
  graph::ModelSpec model;
  plan::Network network;
  std::int64_t batch = 0;
  int threads = 1;
  int workers = 1;
  std::string strategy{};
  int microbatches = 1;
  strategy::PipelineRequest pipeline{};
  std::string profile{};     ///< file; empty: costs are counted
  long long idle_bytes = 0;  ///< of the process, before it made a network
};

/// What an order to go brought.
struct Steps {
  std::vector<double> seconds{};
  double loss = 0;  ///< of the last step, mean over the minibatch
};

data::Batch made_up_batch(const tensor::Shape& sample, std::int64_t size) {
  data::Batch batch{.images = tensor::Tensor(sample.with_front(size)),
                    .targets = tensor::Tensor(tensor::Shape{size, 1})};
  Rng rng(1, Purpose::test);
  for (float& x : batch.images.floats()) x = rng.normal();
  for (float& x : batch.targets.floats()) x = static_cast<float>(rng.below(kClasses));
  return batch;
}

/// What all load tasks of a program bring together.
plan::Samples loaded_by(const plan::Program& program) {
  plan::Samples share{0, 0, 1};
  for (const plan::Task& task : program.tasks) {
    if (!plan::is<plan::Load>(task)) continue;
    const plan::Samples samples = plan::samples_of(task);
    if (share.end == 0) share = samples;
    share.begin = std::min(share.begin, samples.begin);
    share.end = std::max(share.end, samples.end);
  }
  return share;
}

/// The program's part of the made-up batch.
data::Batch batch_for(const Subject& subject, const plan::Program& program) {
  const plan::Samples share = loaded_by(program);
  const std::int64_t count = share.count(subject.batch);
  if (count == 0) return {};
  const tensor::Shape& sample = subject.model.input;
  const data::Batch whole = made_up_batch(sample, subject.batch);
  data::Batch part{.images = tensor::Tensor(sample.with_front(count)),
                   .targets = tensor::Tensor(tensor::Shape{count, 1})};
  const auto copy = [&](const tensor::Tensor& from, tensor::Tensor& to) {
    const std::size_t each = to.floats().size() / static_cast<std::size_t>(count);
    const std::size_t first = each * static_cast<std::size_t>(share.first(subject.batch));
    std::ranges::copy(from.floats().subspan(first, to.floats().size()), to.floats().begin());
  };
  copy(whole.images, part.images);
  copy(whole.targets, part.targets);
  return part;
}

plan::Plan plan_of(const Subject& subject) {
  const plan::Machine machine{.workers_per_node = subject.workers, .inside = kInside};
  std::unique_ptr<cost::CostModel> cost;
  if (!subject.profile.empty()) {
    cost = cost::make_measured_cost(cost::read_profile(subject.profile), subject.network);
  }
  return strategy::make_plan(subject.strategy, {.network = subject.network,
                                                .machine = machine,
                                                .cost = cost.get(),
                                                .batch = subject.batch,
                                                .microbatches = subject.microbatches,
                                                .pipeline = subject.pipeline});
}

std::int64_t bytes_per_step(const plan::Plan& plan) {
  std::int64_t bytes = 0;
  for (int worker = 0; worker < plan.workers(); ++worker) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      bytes += plan::wire_bytes(plan, worker, task);
    }
  }
  return bytes;
}

run::WorkerOptions options_of(const Subject& subject, int rank) {
  return {.rank = rank,
          .threads = subject.threads,
          .optimizer = {.kind = "sgd", .momentum = 0.9},
          .weight_decay = 5e-4};
}

/// Answers orders until there are no more.
void serve(const Subject& subject, const plan::Plan& plan,
           const std::function<Steps(int count)>& go) {
  fmt::print(
      "{{\"parameters\": {}, \"step_flops\": {}, \"idle_bytes\": {}, \"depth\": {}, "
      "\"staleness\": {}, \"bytes_per_step\": {}}}\n",
      graph::parameter_count(subject.model), step_flops(subject.model, subject.batch),
      subject.idle_bytes, plan.depth(), std::ranges::max(plan::staleness(plan)),
      bytes_per_step(plan));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order;
    int count = 0;
    words >> order >> count;
    if (order == "gemm") {
      fmt::print("{{\"gemm_gflops\": {}}}\n",
                 kernels::onednn::measure_gemm_gflops(subject.threads));
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
  run::SoloWorker worker(plan_of(subject), options_of(subject, 0));
  const data::Batch batch = made_up_batch(subject.model.input, subject.batch);
  serve(subject, worker.plan(), [&](int count) {
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
  TeamMember(const Subject& subject, const plan::Plan& plan, transport::ThreadWorld& world,
             int rank)
      : subject_(subject),
        plan_(plan),
        group_(world.group(rank)),
        control_(world.control_group(rank)),
        batch_(batch_for(subject, plan.programs[static_cast<std::size_t>(rank)])),
        worker_(plan, options_of(subject, rank),
                {.group = *group_,
                 .trace = trace_,
                 .status = run::status_of(world.board(), rank),
                 .next_batch = [this](data::Batch& batch) { batch = batch_; },
                 .minibatch =
                     [this](std::int64_t) {
                       return run::Minibatch{.samples = subject_.batch,
                                             .learning_rate = kLearningRate};
                     }}) {}

  void run() {
    if (control_->rank() == 0) {
      serve(subject_, plan_, [this](int count) {
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
    const std::int64_t depth = plan_.depth();
    const std::int64_t steady = depth == 0 ? count : std::max(count, kFewestSteadySteps);
    const plan::MinibatchRange range{next_, next_ + steady + depth};
    next_ = range.last;
    double loss = 0;
    control_->barrier();
    std::vector<double> ends{now_seconds()};
    for (std::int64_t step = range.first; step < range.last + depth; ++step) {
      worker_.play(step, range);
      for (const run::MinibatchLoss& one : worker_.take_losses()) loss = one.loss.sum;
      ends.push_back(now_seconds());
    }
    ends = latest_of_all(ends);
    Steps steps;
    for (auto i = static_cast<std::size_t>(depth); std::ssize(steps.seconds) < steady; ++i) {
      steps.seconds.push_back(ends[i + 1] - ends[i]);
    }
    for (const double one : gather({loss})) {
      steps.loss += one / static_cast<double>(subject_.batch);
    }
    return steps;
  }

  /// `mine` of every worker, one behind the other.
  std::vector<double> gather(const std::vector<double>& mine) {
    std::vector<double> all(mine.size() * static_cast<std::size_t>(subject_.workers));
    control_->all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    return all;
  }

  std::vector<double> latest_of_all(std::vector<double> times) {
    const std::vector<double> all = gather(times);
    for (std::size_t i = 0; i < all.size(); ++i) {
      double& latest = times[i % times.size()];
      latest = std::max(latest, all[i]);
    }
    return times;
  }

  const Subject& subject_;
  const plan::Plan& plan_;
  std::unique_ptr<transport::Group> group_;
  std::unique_ptr<transport::Group> control_;
  data::Batch batch_;
  trace::WorkerTrace trace_;
  run::Worker worker_;
  std::int64_t next_ = 0;  ///< minibatch
};

void serve_together(const Subject& subject) {
  const plan::Plan plan = plan_of(subject);
  transport::ThreadWorld world(
      {.members_per_node = subject.workers, .board_bytes = run::kStatusBytes});
  transport::run_members(world, [&](int rank) {
    run::pin_this_thread(
        {.mode = "cores", .place = rank, .workers = subject.workers, .threads = subject.threads});
    TeamMember(subject, plan, world, rank).run();
  });
}

Subject subject_of(const std::vector<std::string>& words) {
  const long long idle_bytes = process_bytes("VmRSS");
  if (words.size() < 4 || words.size() > 9) {
    user_error(
        "usage: step_worker MODEL CxHxW BATCH THREADS [WORKERS [STRATEGY [MICROBATCHES [MODE "
        "[PROFILE]]]]]");
  }
  const auto word = [&](std::size_t i, const std::string& otherwise) {
    return i < words.size() ? words[i] : otherwise;
  };
  Subject subject{.model = graph::load_model(words[0], tensor::parse_shape(words[1]), kClasses),
                  .network = {},
                  .batch = std::stoll(words[2]),
                  .threads = std::stoi(words[3]),
                  .workers = std::stoi(word(4, "1")),
                  .strategy = {},
                  .microbatches = std::stoi(word(6, "1")),
                  .pipeline = strategy::pipeline_request({.pipeline = word(7, "sync")}),
                  .profile = word(8, ""),
                  .idle_bytes = idle_bytes};
  subject.network = plan::make_network(subject.model);
  subject.strategy = word(5, subject.workers == 1 ? "serial" : "data_parallel");
  return subject;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Subject subject = subject_of({argv + 1, argv + argc});
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
