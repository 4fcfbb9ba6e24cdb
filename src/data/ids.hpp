// Token ids: integers that a model looks up in a table, and so must be inside it.
#pragma once

#include <string>

#include "data/dataset.hpp"

namespace plait::data {

/// Whether samples are token ids.
inline bool holds_ids(const Dataset& dataset) {
  return dataset.sample_type() == tensor::DType::i32;
}

/// UserError with sample and value where an id is not in 0 .. limit - 1. `what` opens the message
/// ("data 'npy:texts', train"), `reader` ends it ("block 'embedding'").
void check_ids(const Dataset& dataset, std::int64_t limit, const std::string& what,
               const std::string& reader);

}  // namespace plait::data
