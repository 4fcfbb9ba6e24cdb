// Divides the test data over the workers, and sums in the order of the workers.
#include "session/job_evaluation.hpp"

#include <vector>

namespace plait::session {

JobEvaluation::JobEvaluation(const MemberParts& parts, run::Worker& worker, bool replicated)
    : parts_(parts), worker_(worker), evaluators_(replicated ? parts.control.size() : 1) {
  if (parts.control.rank() >= evaluators_) return;
  const TrainConfig& config = parts.job.config;
  if (plan::is_cut(parts.plan.network)) {
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
  const data::Dataset& test = *parts_.setup.data.test;
  run::EvaluationSums own{.areas =
                              optim::ClassAreas(data::labels_pixels(test) ? test.classes() : 0)};
  own += own_sums();
  const std::vector<double> mine = own.numbers();
  std::vector<double> all(static_cast<std::size_t>(parts_.control.size()) * mine.size());
  parts_.control.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  run::EvaluationSums total;
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    total += run::EvaluationSums::from(std::span(all).subspan(at, mine.size()));
  }
  return current_.emplace(run::to_evaluation(total, test.classes()));
}

}  // namespace plait::session
