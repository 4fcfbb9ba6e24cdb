// Goes through the labels of a data set.
#include "data/labels.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "data/batch.hpp"

namespace plait::data {

std::optional<SampleLabel> find_label_from(const Dataset& dataset, std::int64_t limit) {
  SampleMemory sample(dataset, 1);
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    dataset.get(i, 0, sample.at(0));
    for (const float label : sample.targets.floats()) {
      if (label >= static_cast<float>(limit)) {
        return SampleLabel{.sample = i, .label = static_cast<std::int64_t>(label)};
      }
    }
  }
  return {};
}

std::string place_of_labels(const std::string& spec, std::string_view split) {
  constexpr std::string_view npy = "npy:";
  if (!spec.starts_with(npy)) return fmt::format("data '{}', {}", spec, split);
  const std::filesystem::path dir = spec.substr(npy.size());
  return (dir / fmt::format("{}_y.npy", split)).string();
}

}  // namespace plait::data
