// Compares forecasts with the free memory and with `memory_per_worker`, and phrases the refusal.
#include "session/memory_check.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "plan/worker_memory.hpp"

namespace plait::session {

namespace {

constexpr const char* kSmaller = "use a smaller `batch` or a smaller model";

}  // namespace

void check_memory(std::int64_t bytes, const std::string& what, const std::string& way_out) {
  const std::int64_t free = available_memory_bytes();
  if (free == 0 || bytes <= free) return;
  user_error("{} needs about {} of memory, but {} are free on this machine; {}", what,
             with_bytes(bytes), with_bytes(free), way_out);
}

namespace {

/// With the data, which has been read by now; what the planner has let pass was without it.
void check_limit(const TrainConfig& config, const plan::Plan& plan) {
  constexpr std::int64_t kStillToCome = 10 << 20;  // of the program's code and threads
  plan::MemoryForecast forecast(plan, {.threads = threads_per_worker(config)});
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const plan::WorkerMemory memory = forecast.of(worker);
    const std::int64_t bytes =
        memory.own() + std::max(memory.program, resident_memory_bytes() + kStillToCome);
    if (bytes <= config.memory_per_worker << 20) continue;
    user_error(
        "`memory_per_worker` {} is too small for `model` {} with `batch` {}: worker {} needs about "
        "{} MiB with the data; use a smaller `batch` or more workers",
        config.memory_per_worker, config.model, config.batch, worker, (bytes >> 20) + 1);
  }
}

}  // namespace

void check_training_memory(const TrainConfig& config, const plan::Plan& plan, bool mpi) {
  if (config.memory_per_worker > 0) return check_limit(config, plan);
  const int threads = threads_per_worker(config);
  std::int64_t bytes = 0;
  int workers = plan.workers();
  if (mpi) {
    workers = plan.machine.workers_per_node;
    for (const std::int64_t one : plan::estimate_memories(plan, {.threads = threads})) bytes += one;
    bytes /= plan.machine.nodes;
  } else {
    bytes = plan::process_memory(plan, 0, workers, threads);
  }
  const std::string who = workers == 1 ? "" : fmt::format(" on {} workers", workers);
  check_memory(bytes, fmt::format("`model` {} with `batch` {}{}", config.model, config.batch, who),
               config.microbatches == 1 && config.batch > 1
                   ? "use a smaller `batch`, `microbatches` 2 or more, or a smaller model"
                   : kSmaller);
}

void check_evaluation_memory(const plan::Network& network, std::int64_t batch, int threads) {
  check_memory(plan::evaluation_memory(network, batch, threads),
               fmt::format("{} with `batch` {}", network.name, batch), kSmaller);
}

}  // namespace plait::session
