// Divides the test data over the workers, and sums in the order of the workers.
#include "session/job_evaluation.hpp"

#include <vector>

namespace plait {

JobEvaluation::JobEvaluation(const MemberParts& parts, Worker& worker, bool replicated)
    : parts_(parts), worker_(worker), evaluators_(replicated ? parts.control.size() : 1) {
  if (parts.control.rank() >= evaluators_) return;
  const TrainConfig& config = parts.job.config;
  if (parts.plan.network.cut) {
    whole_.emplace(parts.setup.model,
                   ChainOptions{.batch = config.batch, .threads = threads_per_worker(config)});
  }
  evaluator_.emplace(whole_ ? *whole_ : worker.home(), parts.setup.data.test, loss_spec(config));
}

EvaluationSums JobEvaluation::own_sums() {
  const std::int64_t rank = parts_.control.rank();
  if (rank >= evaluators_) return {};
  std::optional<ParameterStore> whole;
  if (whole_) {
    whole.emplace(*whole_, parts_.job.config.seed, 0);
    whole->import_weights(worker_.parameters().export_weights(), "the workers");
  }
  const std::int64_t size = parts_.setup.data.test->size();
  return evaluator_->run(whole ? *whole : worker_.parameters(),
                         {.first = size * rank / evaluators_,
                          .last = size * (rank + 1) / evaluators_,
                          .tick = [&] { parts_.status.set(WorkerState::unhurried); }});
}

const Evaluation& JobEvaluation::run() {
  const EvaluationSums sums = own_sums();
  std::vector<EvaluationSums> all(static_cast<std::size_t>(parts_.control.size()));
  parts_.control.all_gather(std::as_bytes(std::span(&sums, 1)),
                            std::as_writable_bytes(std::span(all)));
  EvaluationSums total;
  for (const EvaluationSums& one : all) {
    total.loss += one.loss;
    total.correct += one.correct;
    total.samples += one.samples;
  }
  return current_.emplace(to_evaluation(total, parts_.setup.data.test->classes()));
}

}  // namespace plait
