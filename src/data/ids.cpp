// Goes through all samples once.
#include "data/ids.hpp"

#include "base/error.hpp"
#include "data/batch.hpp"

namespace plait::data {

void check_ids(const Dataset& dataset, std::int64_t limit, const std::string& what,
               const std::string& reader) {
  SampleMemory sample(dataset, 1);
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    dataset.get(i, 0, sample.at(0));
    const auto ids = sample.images.as<std::int32_t>();
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (ids[k] >= 0 && ids[k] < limit) continue;
      user_error("{} sample {}: the token id {} at position {} is not among the {} (0 to {}) of {}",
                 what, i, ids[k], k, limit, limit - 1, reader);
    }
  }
}

}  // namespace plait::data
