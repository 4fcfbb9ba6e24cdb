// Forward passes over the data in order; sums of loss and correct answers that workers can add up.
#include "run/evaluate.hpp"

#include <algorithm>
#include <cmath>

namespace plait::run {

EvaluationSums& EvaluationSums::operator+=(const EvaluationSums& other) {
  loss += other.loss;
  correct += other.correct;
  in_five += other.in_five;
  samples += other.samples;
  counted += other.counted;
  const auto add = [](std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
    to.resize(std::max(to.size(), from.size()));
    for (std::size_t k = 0; k < from.size(); ++k) to[k] += from[k];
  };
  add(areas.labelled, other.areas.labelled);
  add(areas.answered, other.areas.answered);
  add(areas.both, other.areas.both);
  return *this;
}

std::vector<double> EvaluationSums::numbers() const {
  std::vector<double> all{loss, static_cast<double>(correct), static_cast<double>(samples),
                          static_cast<double>(counted), static_cast<double>(in_five)};
  for (const auto* counts : {&areas.labelled, &areas.answered, &areas.both}) {
    for (const std::int64_t count : *counts) all.push_back(static_cast<double>(count));
  }
  return all;
}

EvaluationSums EvaluationSums::from(std::span<const double> numbers) {
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(numbers[i]); };
  EvaluationSums sums{.loss = numbers[0],
                      .correct = count(1),
                      .in_five = count(4),
                      .samples = count(2),
                      .counted = count(3)};
  const std::size_t first = 5;
  const std::size_t classes = (numbers.size() - first) / 3;
  sums.areas = optim::ClassAreas(static_cast<std::int64_t>(classes));
  for (std::size_t k = 0; k < classes; ++k) {
    sums.areas.labelled[k] = count(first + k);
    sums.areas.answered[k] = count(first + classes + k);
    sums.areas.both[k] = count(first + 2 * classes + k);
  }
  return sums;
}

Evaluation to_evaluation(const EvaluationSums& sums, int classes) {
  const auto counted = static_cast<double>(sums.counted);
  const double loss = sums.loss / counted;
  Evaluation result{.loss = std::isnan(loss) ? std::fabs(loss) : loss,  // never "-nan"
                    .accuracy = {},
                    .samples = sums.samples};
  if (classes > 0) result.accuracy = static_cast<double>(sums.correct) / counted;
  if (classes > 5 && sums.areas.empty()) {
    result.top5 = static_cast<double>(sums.in_five) / counted;
  }
  if (!sums.areas.empty()) result.miou = sums.areas.mean_iou();
  return result;
}

Evaluator::Evaluator(Chain& chain, data::DatasetPtr data, optim::LossSpec loss)
    : chain_(chain),
      data_(std::move(data)),
      loss_(std::move(loss)),
      workspace_(chain),
      samples_(*data_, chain.options().batch) {
  loss_.label_smoothing = 0;    // a training device; the test loss is the plain one,
  loss_.class_weights.clear();  // in which all samples weigh alike
}

EvaluationSums Evaluator::run(ParameterStore& parameters, const Part& part) {
  const std::int64_t batch = chain_.options().batch;
  const auto target_size = static_cast<std::size_t>(data_->target_shape().elements());
  const std::int64_t outputs = chain_.dst_desc().shape[1];
  const std::int64_t pixels = chain_.pixels();
  EvaluationSums sums;
  if (pixels > 0) sums.areas = optim::ClassAreas(outputs);
  for (std::int64_t first = part.first; first < part.last; first += batch) {
    const std::int64_t valid = std::min(batch, part.last - first);
    for (std::int64_t n = 0; n < batch; ++n) {
      data_->get(first + std::min(n, valid - 1), 0, samples_.at(n));
    }
    const std::span<const float> logits = workspace_.forward(parameters, samples_.images);
    const optim::LossBatch answers{
        .logits = logits.first(
            static_cast<std::size_t>(valid * outputs * std::max<std::int64_t>(1, pixels))),
        .targets = samples_.targets.floats().first(static_cast<std::size_t>(valid) * target_size),
        .classes = outputs,
        .pixels = pixels};
    if (part.outputs) part.outputs(answers.logits);
    const optim::LossResult result = compute_loss(loss_, answers);
    if (pixels > 0) sums.areas.add(answers);
    if (pixels == 0 && data_->classes() > 5) sums.in_five += optim::labels_within(answers, 5);
    sums.loss += result.sum;
    sums.correct += result.correct;
    sums.counted += result.counted;
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
