// Builds the list of reading parts of every column.
#include "partition/readers.hpp"

namespace plait::partition {

Readers::Readers(const tensor::SparsePattern& pattern, std::span<const std::int32_t> owners,
                 int parts) {
  const tensor::SparsePattern columns = tensor::transposed(pattern).pattern;
  std::vector<std::int64_t> seen(static_cast<std::size_t>(parts), -1);
  begin_.reserve(static_cast<std::size_t>(columns.rows) + 1);
  begin_.push_back(0);
  for (std::int64_t column = 0; column < columns.rows; ++column) {
    for (const std::int32_t row : columns.row(column)) {
      const std::int32_t part = owners[static_cast<std::size_t>(row)];
      std::int64_t& last = seen[static_cast<std::size_t>(part)];
      if (last == column) continue;
      last = column;
      part_.push_back(part);
    }
    begin_.push_back(part_.size());
  }
}

}  // namespace plait::partition
