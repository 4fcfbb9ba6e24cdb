// Parses the setting, counts labels for `balanced`, and sums the weights of an epoch's minibatches.
#include "run/class_weights.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "data/batch.hpp"

namespace plait::run {

namespace {

float parse_weight(std::string_view text, const std::string& all) {
  float weight = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, weight);
  if (error != std::errc() || stop != end || !(weight >= 0 && std::isfinite(weight))) {
    setting_error(
        "class_weights", all.substr(0, 60),
        "is not valid: '{}' is no weight; write one number per class that is not negative, "
        "as in 1,2,0.5, or balanced",
        text.substr(0, 60));
  }
  return weight;
}

/// Calls use(sample, class) for every label that counts.
template <class Use>
void for_each_label(const data::Dataset& data, const Use& use) {
  data::SampleMemory sample(data, 1);
  const auto classes = static_cast<float>(data.classes());
  for (std::int64_t i = 0; i < data.size(); ++i) {
    data.get(i, 0, sample.at(0));
    for (const float label : sample.targets.floats()) {
      if (label < 0 && data::labels_pixels(data)) continue;
      if (!(label >= 0 && label < classes)) {
        user_error("training sample {} has the label {}, but the data has {} classes", i, label,
                   data.classes());
      }
      use(static_cast<std::size_t>(i), static_cast<std::size_t>(label));
    }
  }
}

std::vector<float> balanced(const data::Dataset& data) {
  const auto classes = static_cast<std::size_t>(data.classes());
  std::vector<std::int64_t> count(classes, 0);
  std::int64_t labels = 0;
  for_each_label(data, [&](std::size_t, std::size_t label) {
    ++count[label];
    ++labels;
  });
  const auto occurring =
      static_cast<double>(classes - static_cast<std::size_t>(std::ranges::count(count, 0)));
  std::vector<float> weights;
  for (const std::int64_t of_class : count) {
    const double share = occurring * static_cast<double>(of_class);
    weights.push_back(of_class == 0 ? 0 : static_cast<float>(static_cast<double>(labels) / share));
  }
  return weights;
}

}  // namespace

std::vector<float> parse_class_weights(const std::string& text) {
  std::vector<float> weights;
  if (text.empty() || text == "balanced") return weights;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    weights.push_back(parse_weight(rest.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (std::ranges::all_of(weights, [](float weight) { return weight == 0; })) {
    setting_error("class_weights", text.substr(0, 60),
                  "has only zeros; at least one weight must be above 0");
  }
  return weights;
}

ClassWeights class_weights(const std::string& text, const data::Dataset& train) {
  if (text.empty() && !data::labels_pixels(train)) return {};
  const auto classes = static_cast<std::size_t>(train.classes());
  ClassWeights weights{.of_class = parse_class_weights(text)};
  if (!weights.of_class.empty() && weights.of_class.size() != classes) {
    setting_error("class_weights", text.substr(0, 60),
                  "has {} weight(s), but the data has {} classes; write {}",
                  weights.of_class.size(), classes, classes);
  }
  if (text == "balanced") weights.of_class = balanced(train);
  weights.of_sample.assign(static_cast<std::size_t>(train.size()), 0);
  for_each_label(train, [&](std::size_t sample, std::size_t label) {
    weights.of_sample[sample] += weights.of_class.empty() ? 1 : weights.of_class[label];
  });
  return weights;
}

MinibatchWeights::Sums MinibatchWeights::of(std::int64_t minibatch) const {
  const std::int64_t per_epoch = stream_.batches_per_epoch();
  if (weights_.of_sample.empty()) {
    const std::int64_t samples = stream_.batch_size(minibatch % per_epoch);
    return {static_cast<double>(samples), static_cast<double>(averaged_.count(samples))};
  }
  sum_epoch(minibatch / per_epoch);
  return sums_[static_cast<std::size_t>(minibatch % per_epoch)];
}

double MinibatchWeights::epoch(std::int64_t epoch, std::int64_t batches) const {
  double sum = 0;
  for (std::int64_t m = 0; m < batches; ++m) {
    sum += of(epoch * stream_.batches_per_epoch() + m).whole;
  }
  return sum;
}

void MinibatchWeights::sum_epoch(std::int64_t epoch) const {
  if (epoch_ == epoch) return;
  const std::vector<std::uint32_t> order = stream_.order(static_cast<std::uint64_t>(epoch));
  sums_.clear();
  auto sample = order.begin();
  for (std::int64_t m = 0; m < stream_.batches_per_epoch(); ++m) {
    const std::int64_t size = stream_.batch_size(m);
    Sums& sums = sums_.emplace_back();
    for (std::int64_t i = 0; i < size; ++i, ++sample) {
      const double weight = weights_.of_sample[*sample];
      sums.whole += weight;
      if (i >= averaged_.first(size) && i < averaged_.last(size)) sums.averaged += weight;
    }
  }
  epoch_ = epoch;
}

}  // namespace plait::run
