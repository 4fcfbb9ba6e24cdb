// Labels against the number of classes that a network tells apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/dataset.hpp"

namespace plait::data {

/// The same samples with more classes than occur: the others simply have no samples.
class MoreClasses final : public Decorator {
 public:
  MoreClasses(DatasetPtr inner, int classes) : Decorator(std::move(inner)), classes_(classes) {}
  int classes() const override { return classes_; }

 private:
  int classes_;
};

struct SampleLabel {
  std::int64_t sample = 0;
  std::int64_t label = 0;
};

/// The first label (of a sample, or of one of its pixels) from `limit` on.
std::optional<SampleLabel> find_label_from(const Dataset& dataset, std::int64_t limit);

/// Where messages say that the labels of a split ("train", "test") are: a file, or "data
/// 'mnist:DIR', train".
std::string place_of_labels(const std::string& spec, std::string_view split);

}  // namespace plait::data
