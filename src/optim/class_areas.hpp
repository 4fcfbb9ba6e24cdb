// ClassAreas: pixels counted by their label and by the network's answer, from which the mean
// intersection over union follows. Sums of parts of the data add up to those of the whole.
#pragma once

#include <cstdint>
#include <vector>

#include "optim/loss.hpp"

namespace plait::optim {

struct ClassAreas {
  ClassAreas() = default;
  explicit ClassAreas(std::int64_t classes);

  std::vector<std::int64_t> labelled{};  ///< per class: pixels with this label
  std::vector<std::int64_t> answered{};  ///< whose largest logit (the first of equals) is this one
  std::vector<std::int64_t> both{};

  bool empty() const { return labelled.empty(); }
  /// Of a batch with `pixels`; those with a label below 0 are left out.
  void add(const LossBatch& batch);
  /// The mean of both / (labelled + answered - both) over the classes that occur in either.
  double mean_iou() const;
};

}  // namespace plait::optim
