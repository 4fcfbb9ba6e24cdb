// Divides the test data over the workers, and sums in the order of the workers.
#include "session/job_evaluation.hpp"

#include <vector>

namespace plait::session {

JobEvaluation::JobEvaluation(const MemberParts& parts, run::Worker& worker, bool replicated)
    : parts_(parts), worker_(worker), evaluators_(replicated ? parts.control.size() : 1) {
  if (parts.control.rank() >= evaluators_) return;
  const TrainConfig& config = parts.job.config;
  if (parts.plan.network.cut) {
    whole_.emplace(parts.setup.model,
                   run::ChainOptions{.batch = config.batch, .threads = threads_per_worker(config)});
  }
  evaluator_.emplace(whole_ ? *whole_ : worker.home(), parts.setup.data.test,
                     optim::loss_spec(config));
}

run::EvaluationSums JobEvaluation::own_sums() {
  const std::int64_t rank = parts_.control.rank();
  if (rank >= evaluators_) return {};
  std::optional<run::ParameterStore> whole;
  if (whole_) {
    whole.emplace(*whole_, parts_.job.config.seed, 0);
    whole->import_weights(worker_.parameters().export_weights(), "the workers");
  }
  const std::int64_t size = parts_.setup.data.test->size();
  return evaluator_->run(whole ? *whole : worker_.parameters(),
                         {.first = size * rank / evaluators_,
                          .last = size * (rank + 1) / evaluators_,
                          .tick = [&] { parts_.status.set(run::WorkerState::unhurried); }});
}

const run::Evaluation& JobEvaluation::run() {
  const run::EvaluationSums sums = own_sums();
  std::vector<run::EvaluationSums> all(static_cast<std::size_t>(parts_.control.size()));
  parts_.control.all_gather(std::as_bytes(std::span(&sums, 1)),
                            std::as_writable_bytes(std::span(all)));
  run::EvaluationSums total;
  for (const run::EvaluationSums& one : all) {
    total.loss += one.loss;
    total.correct += one.correct;
    total.samples += one.samples;
  }
  return current_.emplace(run::to_evaluation(total, parts_.setup.data.test->classes()));
}

}  // namespace plait::session
