// SparsePattern: which elements of a matrix are there, CSR without values. The values (weights,
// gradients, optimizer state) are flat arrays with one entry per element, in this order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace plait::tensor {

struct SparsePattern {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_begin{0};  ///< rows + 1 entries
  std::vector<std::int32_t> column;        ///< ascending in every row

  std::int64_t size() const { return static_cast<std::int64_t>(column.size()); }
  std::span<const std::int32_t> row(std::int64_t i) const {
    const std::size_t first = static_cast<std::size_t>(row_begin[static_cast<std::size_t>(i)]);
    const std::size_t last = static_cast<std::size_t>(row_begin[static_cast<std::size_t>(i) + 1]);
    return std::span(column).subspan(first, last - first);
  }
  /// Share of the elements that are not there.
  double sparsity() const;
  bool operator==(const SparsePattern&) const = default;
};

/// One element with its place.
struct MatrixEntry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  float value = 0;
};

/// A pattern with values (null where a file has none); both shared and never changed.
struct SparseMatrix {
  std::shared_ptr<const SparsePattern> pattern;
  std::shared_ptr<const std::vector<float>> values;
};

/// From entries in any order. UserError, beginning with `source` (a file name), where a place is
/// outside of rows x columns or named twice.
SparseMatrix make_sparse_matrix(std::int64_t rows, std::int64_t columns,
                                std::vector<MatrixEntry> entries, const std::string& source);

/// Pattern of the transpose; `origin[k]` is the position in `pattern` of its element k.
struct TransposedPattern {
  SparsePattern pattern;
  std::vector<std::int64_t> origin;
};
TransposedPattern transposed(const SparsePattern& pattern);

/// Of sizes and places: equal patterns, equal text.
std::string pattern_hash(const SparsePattern& pattern);

}  // namespace plait::tensor
