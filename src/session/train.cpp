// Prepares data, plan and folder, starts the members on threads or MPI, and ends the job in order
// when one fails.
#include "session/train.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>

#include "base/error.hpp"
#include "run/cores.hpp"
#include "run/cpu_limits.hpp"
#include "run/this_machine.hpp"
#include "session/agreement.hpp"
#include "session/batch_norm_check.hpp"
#include "session/member.hpp"
#include "session/node_layout.hpp"
#include "session/trace_gather.hpp"
#include "session/watch.hpp"
#include "transport/lifeline.hpp"
#include "transport/threads.hpp"

namespace plait {

namespace {

/// After trouble, workers get this long to end by themselves; one that computes for ever does not.
constexpr auto kGrace = std::chrono::seconds(2);

/// As long as the first process of a node needs to see that the job is ended on purpose, and to
/// tell the other nodes: they would take the end of its processes for a loss.
constexpr auto kFarewell = std::chrono::milliseconds(150);

/// Everything that is there before the first worker starts.
struct Prepared {
  Setup setup;
  Plan plan;
};

/// Data and model.
Prepared prepare(const TrainJob& job) {
  check_config(job.config);
  Prepared prepared{.setup = make_setup(job.config), .plan = {}};
  if (const std::int64_t samples = prepared.setup.data.train->size(); job.config.batch > samples) {
    setting_error("batch", job.config.batch,
                  "is more than the {} training samples of `data` {}{}; use `batch` {} or less",
                  samples, job.config.data,
                  job.config.train_limit > 0
                      ? fmt::format(" with `train_limit` {}", job.config.train_limit)
                      : "",
                  samples);
  }
  prepared.setup.weights = class_weights(job.config.class_weights, *prepared.setup.data.train);
  return prepared;
}

void prepare_plan(const TrainJob& job, const Machine& machine, Prepared& prepared) {
  prepared.plan = job.make_plan(prepared.setup.model, machine);
  check_batch_norms(prepared.plan, job.config, prepared.setup.data.train->size());
  if (!job.config.init.empty() && (job.mpi == nullptr || job.mpi->rank() == 0)) {
    // Now, while no run folder has been made.
    const Network& network = prepared.plan.network;
    const std::vector<NamedTensor> weights = initial_weights(job, prepared.setup.model);
    check_weights(network.cut ? make_network(prepared.setup.model) : network, weights,
                  job.config.init);
    if (const std::string wrong = non_finite_tensor(weights); !wrong.empty()) {
      user_error("{}: {}; start from other weights", job.config.init, wrong);
    }
  }
  if (prepared.plan.workers() != machine.workers()) {
    fail("strategy {} made a plan for {} workers instead of {}", prepared.plan.strategy,
         prepared.plan.workers(), machine.workers());
  }
}

/// The folder of the run, with what its plan was made of.
RunFolder make_folder(const TrainJob& job, const Plan& plan) {
  RunFolder folder(job.config, job.config_text);
  if (job.costs_text) folder.keep("costs.json", job.costs_text());
  if (job.plan_text && folder.writes()) folder.keep("plan.json", job.plan_text(plan));
  return folder;
}

std::string checkpoints_of(const RunFolder& folder) {
  return folder.writes() ? (folder.path() / "checkpoints").string() : "";
}

/// `workers` on this machine, this one at `place` among them.
void pin(const TrainConfig& config, int place, int workers) {
  pin_this_thread({.mode = config.pin,
                   .place = place,
                   .workers = workers,
                   .threads = threads_per_worker(config)});
}

/// What the watch found, if anything, shared between it and the caller.
class Trouble {
 public:
  void set(const std::string& line) {
    const std::lock_guard lock(mutex_);
    line_ = line;
  }
  std::string line() const {
    const std::lock_guard lock(mutex_);
    return line_;
  }

 private:
  mutable std::mutex mutex_;
  std::string line_;
};

/// Ends the process when workers do not end by themselves.
class LastResort {
 public:
  ~LastResort() {
    {
      const std::lock_guard lock(mutex_);
      calm_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void arm() {
    thread_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, kGrace, [this] { return calm_; })) std::_Exit(1);
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool calm_ = false;
  std::thread thread_;
};

TrainResult train_on_threads(const TrainJob& job) {
  check_config(job.config);
  const Machine machine = machine_of(job.config);
  Prepared prepared = prepare(job);
  prepare_plan(job, machine, prepared);
  RunFolder folder = make_folder(job, prepared.plan);
  ThreadWorld world(
      {.nodes = machine.nodes,
       .members_per_node = machine.workers_per_node,
       .between_nodes = {machine.between.bytes_per_second, machine.between.latency_seconds},
       .board_bytes = kStatusBytes});
  const int workers = machine.workers();
  std::vector<int> all;
  for (int rank = 0; rank < workers; ++rank) all.push_back(rank);
  Trace trace;
  trace.workers.assign(all.size(), WorkerTrace(job.config.trace_steps));
  TrainResult result;
  Trouble trouble;
  LastResort last_resort;
  const Watch watch(prepared.plan, world.board(),
                    {.stall_seconds = job.config.stall_seconds, .own = all},
                    [&](const std::string& line) {
                      trouble.set(line);
                      job.observer.fatal(line);
                      world.abort(line);
                      last_resort.arm();
                    });
  try {
    run_members(world, [&](int rank) {
      pin(job.config, rank, workers);
      const auto group = world.group(rank);
      const auto control = world.control_group(rank);
      Member member({.job = job,
                     .setup = prepared.setup,
                     .plan = prepared.plan,
                     .group = *group,
                     .control = *control,
                     .status = status_of(world.board(), rank),
                     .trace = trace.workers[static_cast<std::size_t>(rank)],
                     .folder = rank == 0 ? &folder : nullptr,
                     .checkpoints = checkpoints_of(folder)});
      TrainResult done = member.run();
      if (rank == 0) result = std::move(done);
    });
  } catch (const Aborted& aborted) {
    fail("{}", aborted.what());
  }
  if (const std::string line = trouble.line(); !line.empty()) fail("{}", line);
  result.plan = prepared.plan;
  result.trace = std::move(trace);
  return result;
}

void agree_or_leave(const TrainJob& job, Group& control, const Standing& standing) {
  try {
    agree(control, standing);
  } catch (const UserError& error) {
    job.observer.fatal(error.what());
    throw QuietExit{2};
  } catch (const std::exception& error) {
    job.observer.fatal(error.what());
    throw QuietExit{1};
  }
}

[[noreturn]] void leave(MpiWorld& mpi, int code) {
  mpi.exit_all(code);
  std::abort();  // g++ does not believe [[noreturn]] of a virtual function
}

/// One process says the line and ends all others; these wait for it, but not for ever.
[[noreturn]] void end_job(const TrainJob& job, const std::string& line, int code) {
  if (take_last_word(job.mpi->board())) {
    job.observer.fatal(line);
    std::this_thread::sleep_for(kFarewell);
  } else {
    std::this_thread::sleep_for(kGrace);
  }
  leave(*job.mpi, code);
}

/// A link that goes silent is a stall first: that line says more.
double silence_of(const TrainConfig& config) {
  constexpr double kLater = 5;
  return config.stall_seconds > 0 ? config.stall_seconds + kLater : 0;
}

/// Once all have agreed to begin, an error ends the processes of the whole job from here: nobody
/// returns.
TrainResult train_on_mpi(const TrainJob& given) {
  MpiWorld& mpi = *given.mpi;
  const auto group = mpi.group();
  const auto control = mpi.control_group();
  TrainJob job = given;
  Standing standing{.error = {}, .text = {}, .what = "program and settings"};
  std::optional<Prepared> prepared;
  std::optional<RunFolder> folder;
  const cpu_set_t processors = affinity_of_node(*control);
  Machine machine;
  try {
    check_config(job.config);
    machine = machine_of(job.config, *group);
    job.config.workers = machine.workers();
    job.config.nodes = machine.nodes;
    job.config.workers_per_node = machine.workers_per_node;
    if (job.config.threads == 0) {
      job.config.threads = std::max(1, usable_cores(processors) / machine.workers_per_node);
    }
    prepared.emplace(prepare(job));
    standing.text = fmt::format("{} {} {} {}", job.config_text, program_hash(),
                                network_hash(make_network(prepared->setup.model)),
                                threads_per_worker(job.config));
  } catch (...) {
    standing.error = std::current_exception();
  }
  agree_or_leave(job, *control, standing);
  try {  // only now: where costs are measured, worker 0 tells the others
    prepare_plan(job, machine, *prepared);
    standing.text = network_hash(prepared->plan.network);
  } catch (...) {
    standing.error = std::current_exception();
  }
  agree_or_leave(job, *control, standing);
  Standing folder_standing;
  try {
    if (mpi.rank() == 0) folder.emplace(make_folder(job, prepared->plan));
  } catch (...) {
    folder_standing.error = std::current_exception();
  }
  agree_or_leave(job, *control, folder_standing);

  std::array<char, 4096> checkpoints{};
  if (mpi.rank() == 0) {
    checkpoints_of(*folder).copy(checkpoints.data(), checkpoints.size() - 1);
  }
  control->broadcast(std::as_writable_bytes(std::span(checkpoints)), 0);

  const std::vector<int> here = mpi.board().members();
  const auto place = static_cast<int>(std::ranges::find(here, mpi.rank()) - here.begin());
  pin(job.config, place, static_cast<int>(here.size()));
  WorkerTrace trace(job.config.trace_steps);
  Lifeline lifeline(*control, silence_of(job.config));
  const Watch watch(prepared->plan, mpi.board(),
                    {.stall_seconds = job.config.stall_seconds,
                     .own = {mpi.rank()},
                     .lost =
                         [&] {
                           if (last_word_taken(mpi.board())) lifeline.farewell();
                           return lifeline.lost();
                         }},
                    [&](const std::string& line) {
                      lifeline.farewell();
                      end_job(job, line, kLostWorkers);
                    });
  try {
    Member member({.job = job,
                   .setup = prepared->setup,
                   .plan = prepared->plan,
                   .group = *group,
                   .control = *control,
                   .status = status_of(mpi.board(), mpi.rank()),
                   .trace = trace,
                   .folder = folder ? &*folder : nullptr,
                   .checkpoints = checkpoints.data()});
    TrainResult result = member.run();
    result.trace = gather_events(*control, trace.events());
    if (mpi.rank() == 0) result.plan = prepared->plan;  // the watch still reads it
    control->barrier();
    return result;
  } catch (const Aborted& aborted) {
    std::this_thread::sleep_for(kGrace);  // who aborted says why and ends us
    end_job(job, aborted.what(), 1);
  } catch (const UserError& error) {
    end_job(job, error.what(), 2);
  } catch (const std::bad_alloc&) {
    end_job(job, fmt::format("worker {}: not enough memory; try a smaller `batch`", mpi.rank()), 1);
  } catch (const std::exception& error) {
    end_job(job, error.what(), 1);
  }
}

}  // namespace

Machine machine_of(const TrainConfig& config, Group& group) {
  const int size = group.size();
  if (config.workers != 0 && config.workers != size) {
    setting_error("workers", config.workers,
                  "but mpirun started {}; omit `workers`, or use mpirun -n {}", size,
                  config.workers);
  }
  if (!config.link_between_nodes.empty()) {
    setting_error("link_between_nodes", config.link_between_nodes,
                  "is for workers in one process; under MPI the links are real");
  }
  Machine machine;
  machine.nodes = group.node(size - 1) + 1;
  machine.workers_per_node = size / machine.nodes;
  for (int member = 0; member < size; ++member) {
    if (size % machine.nodes == 0 && group.node(member) == machine.node_of(member)) continue;
    machine = {.nodes = 1, .workers_per_node = size};  // uneven nodes: only the count is certain
    break;
  }
  if (config.nodes != 1 && config.nodes != machine.nodes) {
    const std::string uneven = uneven_nodes(group);
    setting_error("nodes", config.nodes, "but MPI found {} node(s); {}", machine.nodes,
                  uneven.empty() ? "omit `nodes`" : uneven);
  }
  return machine;
}

std::vector<NamedTensor> initial_weights(const TrainJob& job, const ModelSpec& model) {
  const std::string& file = job.config.init;
  return job.read_weights ? job.read_weights(file, model) : read_safetensors(file).tensors;
}

TrainResult train(const TrainJob& job) {
  if (job.mpi != nullptr) return train_on_mpi(job);
  TrainJob here = job;
  here.config.threads = threads_on_one_machine(job.config);
  return train_on_threads(here);
}

}  // namespace plait
