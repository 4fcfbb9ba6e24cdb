// Prepares a run: opens the data, asks for the plan, makes the folder.
#include "session/prepare.hpp"

#include "base/error.hpp"
#include "run/class_weights.hpp"
#include "run/cores.hpp"
#include "session/batch_norm_check.hpp"
#include "session/memory_check.hpp"

namespace plait::session {

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
  for (const std::string& line : prepared.setup.data.notes) job.observer.note(line);
  prepared.setup.weights = run::class_weights(job.config.class_weights, *prepared.setup.data.train);
  return prepared;
}

void prepare_plan(const TrainJob& job, const plan::Machine& machine, Prepared& prepared) {
  prepared.plan = job.planner->plan(prepared.setup.model, machine);
  check_training_memory(job.config, prepared.plan, job.mpi != nullptr);
  job.observer.planned(
      {.plan = prepared.plan, .model = prepared.setup.model, .planner = *job.planner});
  check_batch_norms(prepared.plan, job.config, prepared.setup.data.train->size());
  if (!job.config.init.empty() && (job.mpi == nullptr || job.mpi->rank() == 0)) {
    // Now, while no run folder has been made.
    const plan::Network& network = prepared.plan.network;
    const std::vector<checkpoint::NamedTensor> weights = initial_weights(job, prepared.setup.model);
    run::check_weights(plan::is_cut(network) ? plan::make_network(prepared.setup.model) : network,
                       weights, job.config.init);
    if (const std::string wrong = run::non_finite_tensor(weights); !wrong.empty()) {
      user_error("{}: {}; start from other weights", job.config.init, wrong);
    }
  }
  if (prepared.plan.workers() != machine.workers()) {
    fail("strategy {} made a plan for {} workers instead of {}", prepared.plan.strategy,
         prepared.plan.workers(), machine.workers());
  }
}

RunFolder make_folder(const TrainJob& job, const plan::Plan& plan) {
  RunFolder folder(job.config, job.config_text);
  if (!folder.writes()) return folder;
  folder.keep("costs.json", job.planner->costs_text());
  folder.keep("plan.json", job.planner->plan_text(plan));
  return folder;
}

std::string checkpoints_of(const RunFolder& folder) {
  return folder.writes() ? (folder.path() / "checkpoints").string() : "";
}

void pin(const TrainConfig& config, int place, int workers) {
  run::pin_this_thread({.mode = config.pin,
                        .place = place,
                        .workers = workers,
                        .threads = threads_per_worker(config)});
}

}  // namespace plait::session
