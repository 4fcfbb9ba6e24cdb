// Training: on threads or on MPI processes.
#include "session/train.hpp"

#include "checkpoint/safetensors.hpp"
#include "session/prepare.hpp"

namespace plait {

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
