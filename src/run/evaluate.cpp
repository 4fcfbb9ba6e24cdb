// Forward passes over the data in order; sums of loss and correct answers that workers can add up.
#include "run/evaluate.hpp"

#include <algorithm>
#include <cmath>

namespace plait::run {

Evaluation to_evaluation(const EvaluationSums& sums, int classes) {
  const auto samples = static_cast<double>(sums.samples);
  const double loss = sums.loss / samples;
  Evaluation result{.loss = std::isnan(loss) ? std::fabs(loss) : loss,  // never "-nan"
                    .accuracy = {},
                    .samples = sums.samples};
  if (classes > 0) result.accuracy = static_cast<double>(sums.correct) / samples;
  return result;
}

Evaluator::Evaluator(Chain& chain, data::DatasetPtr data, optim::LossSpec loss)
    : chain_(chain),
      data_(std::move(data)),
      loss_(std::move(loss)),
      workspace_(chain),
      images_(data_->sample_shape().with_front(chain.options().batch)),
      targets_(data_->target_shape().with_front(chain.options().batch)) {
  loss_.label_smoothing = 0;    // a training device; the test loss is the plain one,
  loss_.class_weights.clear();  // in which all samples weigh alike
}

EvaluationSums Evaluator::run(ParameterStore& parameters, const Part& part) {
  const std::int64_t batch = chain_.options().batch;
  const auto sample_size = static_cast<std::size_t>(data_->sample_shape().elements());
  const auto target_size = static_cast<std::size_t>(data_->target_shape().elements());
  const std::int64_t outputs = chain_.dst_desc().shape[1];
  EvaluationSums sums;
  for (std::int64_t first = part.first; first < part.last; first += batch) {
    const std::int64_t valid = std::min(batch, part.last - first);
    for (std::int64_t n = 0; n < batch; ++n) {
      const auto at = static_cast<std::size_t>(n);
      data_->get(first + std::min(n, valid - 1), 0,
                 {images_.floats().subspan(at * sample_size, sample_size),
                  targets_.floats().subspan(at * target_size, target_size)});
    }
    const std::span<const float> logits = workspace_.forward(parameters, images_.floats().data());
    const std::span<const float> valid_logits =
        logits.first(static_cast<std::size_t>(valid * outputs));
    if (part.outputs) part.outputs(valid_logits);
    const optim::LossResult result = compute_loss(
        loss_, {.logits = valid_logits,
                .targets = targets_.floats().first(static_cast<std::size_t>(valid) * target_size),
                .classes = outputs});
    sums.loss += result.sum;
    sums.correct += result.correct;
    sums.samples += valid;
    if (part.tick) part.tick();
  }
  return sums;
}

Evaluation Evaluator::run(ParameterStore& parameters, const OutputSink& outputs) {
  Evaluation evaluation = to_evaluation(
      run(parameters, {.first = 0, .last = data_->size(), .tick = {}, .outputs = outputs}),
      data_->classes());
  evaluation.residuals = residuals(chain_.network(), workspace_.take_residuals());
  return evaluation;
}

}  // namespace plait::run
