// Readers: for every column of a layer, the parts that own a row with an element there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::partition {

class Readers {
 public:
  Readers(const tensor::SparsePattern& pattern, std::span<const std::int32_t> owners, int parts);

  /// Every part once, in no particular order.
  std::span<const std::int32_t> of(std::size_t column) const {
    return std::span(part_).subspan(begin_[column], begin_[column + 1] - begin_[column]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> part_;
};

}  // namespace plait::partition
