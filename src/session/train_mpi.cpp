// A run of MPI processes, seen from one of them: all begin together, and where one fails all end.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "graph/model_hash.hpp"
#include "run/cores.hpp"
#include "run/cpu_limits.hpp"
#include "run/this_machine.hpp"
#include "session/agreement.hpp"
#include "session/member.hpp"
#include "session/node_layout.hpp"
#include "session/prepare.hpp"
#include "session/trace_gather.hpp"
#include "session/watch.hpp"
#include "transport/lifeline.hpp"

namespace plait::session {

namespace {

/// As long as the first process of a node needs to see that the job is ended on purpose, and to
/// tell the other nodes: they would take the end of its processes for a loss.
constexpr auto kFarewell = std::chrono::milliseconds(150);

void agree_or_leave(const TrainJob& job, transport::Group& control, const Standing& standing) {
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

[[noreturn]] void leave(transport::MpiWorld& mpi, int code) {
  mpi.exit_all(code);
  std::abort();  // g++ does not believe [[noreturn]] of a virtual function
}

/// One process says the line and ends all others; these wait for it, but not for ever.
[[noreturn]] void end_job(const TrainJob& job, const std::string& line, int code) {
  if (run::take_last_word(job.mpi->board())) {
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

}  // namespace

plan::Machine machine_of(const TrainConfig& config, transport::Group& group) {
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
  plan::Machine machine;
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

/// Once all have agreed to begin, an error ends the processes of the whole job from here: nobody
/// returns.
TrainResult train_on_mpi(const TrainJob& given) {
  transport::MpiWorld& mpi = *given.mpi;
  const auto group = mpi.group();
  const auto control = mpi.control_group();
  TrainJob job = given;
  Standing standing{.error = {}, .text = {}, .what = "program and settings"};
  std::optional<Prepared> prepared;
  std::optional<RunFolder> folder;
  const cpu_set_t processors = run::affinity_of_node(*control);
  plan::Machine machine;
  try {
    check_config(job.config);
    machine = machine_of(job.config, *group);
    job.config.workers = machine.workers();
    job.config.nodes = machine.nodes;
    job.config.workers_per_node = machine.workers_per_node;
    if (job.config.threads == 0) {
      job.config.threads = std::max(1, run::usable_cores(processors) / machine.workers_per_node);
    }
    prepared.emplace(prepare(job));
    standing.text =
        fmt::format("{} {} {} {}", job.config_text, run::program_hash(),
                    graph::model_hash(prepared->setup.model), threads_per_worker(job.config));
  } catch (...) {
    standing.error = std::current_exception();
  }
  agree_or_leave(job, *control, standing);
  try {  // only now: where costs are measured, worker 0 tells the others
    prepare_plan(job, machine, *prepared);
    standing.text = plan::network_hash(prepared->plan.network);
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
  trace::WorkerTrace trace(job.config.trace_steps);
  transport::Lifeline lifeline(*control, silence_of(job.config));
  const Watch watch(prepared->plan, mpi.board(),
                    {.stall_seconds = job.config.stall_seconds,
                     .own = {mpi.rank()},
                     .lost =
                         [&] {
                           if (run::last_word_taken(mpi.board())) lifeline.farewell();
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
                   .status = run::status_of(mpi.board(), mpi.rank()),
                   .trace = trace,
                   .folder = folder ? &*folder : nullptr,
                   .checkpoints = checkpoints.data()});
    TrainResult result = member.run();
    result.trace = gather_events(*control, trace.events());
    if (mpi.rank() == 0) result.plan = prepared->plan;  // the watch still reads it
    control->barrier();
    return result;
  } catch (const transport::Aborted& aborted) {
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

}  // namespace plait::session
