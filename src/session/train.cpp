// Training: on threads or on MPI processes.
#include "session/train.hpp"

#include "checkpoint/safetensors.hpp"
#include "session/prepare.hpp"
#include "session/settle.hpp"

namespace plait::session {

std::vector<checkpoint::NamedTensor> initial_weights(const TrainJob& job,
                                                     const graph::ModelSpec& model) {
  const std::string& file = job.config.init;
  return job.read_weights ? job.read_weights(file, model)
                          : checkpoint::read_safetensors(file).tensors;
}

TrainResult train(const TrainJob& given) {
  TrainJob job = given;
  if (!job.planner) {
    SettledRun run = settle(job.config, {.mpi = job.mpi});
    job.config = std::move(run.config);
    job.planner = std::move(run.planner);
    for (const std::string& line : run.notes) job.observer.note(line);
  }
  if (job.mpi != nullptr) return train_on_mpi(job);
  job.config.threads = threads_on_one_machine(job.config);
  return train_on_threads(job);
}

}  // namespace plait::session
