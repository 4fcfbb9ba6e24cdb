// Counts the pixels of a batch, and the mean over the classes.
#include "optim/class_areas.hpp"

#include <algorithm>

namespace plait::optim {

ClassAreas::ClassAreas(std::int64_t classes)
    : labelled(static_cast<std::size_t>(classes), 0), answered(labelled), both(labelled) {}

void ClassAreas::add(const LossBatch& batch) {
  const std::int64_t pixels = std::max<std::int64_t>(1, batch.pixels);
  for (std::int64_t place = 0; place < std::ssize(batch.targets); ++place) {
    const float label = batch.targets[static_cast<std::size_t>(place)];
    if (label < 0) continue;
    const float* const x =
        batch.logits.data() + place / pixels * batch.classes * pixels + place % pixels;
    std::int64_t best = 0;
    for (std::int64_t k = 0; k < batch.classes; ++k) {
      if (x[k * pixels] > x[best * pixels]) best = k;
    }
    const auto wanted = static_cast<std::size_t>(label);
    ++labelled[wanted];
    ++answered[static_cast<std::size_t>(best)];
    if (static_cast<std::size_t>(best) == wanted) ++both[wanted];
  }
}

double ClassAreas::mean_iou() const {
  double sum = 0;
  std::int64_t classes = 0;
  for (std::size_t k = 0; k < labelled.size(); ++k) {
    const std::int64_t either = labelled[k] + answered[k] - both[k];
    if (either == 0) continue;
    sum += static_cast<double>(both[k]) / static_cast<double>(either);
    ++classes;
  }
  return classes == 0 ? 0 : sum / static_cast<double>(classes);
}

}  // namespace plait::optim
