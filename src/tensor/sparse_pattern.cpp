// Building a CSR pattern from elements, transposing and hashing it.
#include "tensor/sparse_pattern.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace plait::tensor {

double SparsePattern::sparsity() const {
  const double all = static_cast<double>(rows) * static_cast<double>(columns);
  return all > 0 ? 1.0 - static_cast<double>(size()) / all : 0.0;
}

SparseMatrix make_sparse_matrix(std::int64_t rows, std::int64_t columns,
                                std::vector<MatrixEntry> entries, const std::string& source) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (rows < 1 || columns < 1 || rows > kMost || columns > kMost) {
    user_error("{}: a matrix of {} x {} is not possible", source, rows, columns);
  }
  for (const MatrixEntry& entry : entries) {
    if (entry.row < 0 || entry.row >= rows || entry.column < 0 || entry.column >= columns) {
      user_error("{}: element (row {}, column {}) is outside of a matrix of {} x {}", source,
                 entry.row + 1, entry.column + 1, rows, columns);
    }
  }
  const auto place = [](const MatrixEntry& entry) { return std::tuple(entry.row, entry.column); };
  std::ranges::sort(entries, {}, place);
  const auto twice = std::ranges::adjacent_find(entries, {}, place);
  if (twice != entries.end()) {
    user_error("{}: element (row {}, column {}) is there twice", source, twice->row + 1,
               twice->column + 1);
  }
  SparsePattern pattern{.rows = rows, .columns = columns, .row_begin = {}, .column = {}};
  pattern.row_begin.assign(static_cast<std::size_t>(rows) + 1, 0);
  pattern.column.reserve(entries.size());
  std::vector<float> values;
  values.reserve(entries.size());
  for (const MatrixEntry& entry : entries) {
    ++pattern.row_begin[static_cast<std::size_t>(entry.row) + 1];
    pattern.column.push_back(static_cast<std::int32_t>(entry.column));
    values.push_back(entry.value);
  }
  for (std::size_t i = 1; i < pattern.row_begin.size(); ++i) {
    pattern.row_begin[i] += pattern.row_begin[i - 1];
  }
  return {std::make_shared<const SparsePattern>(std::move(pattern)),
          std::make_shared<const std::vector<float>>(std::move(values))};
}

TransposedPattern transposed(const SparsePattern& pattern) {
  TransposedPattern result;
  SparsePattern& turned = result.pattern;
  turned.rows = pattern.columns;
  turned.columns = pattern.rows;
  turned.row_begin.assign(static_cast<std::size_t>(turned.rows) + 1, 0);
  for (const std::int32_t column : pattern.column) {
    ++turned.row_begin[static_cast<std::size_t>(column) + 1];
  }
  for (std::size_t i = 1; i < turned.row_begin.size(); ++i) {
    turned.row_begin[i] += turned.row_begin[i - 1];
  }
  turned.column.resize(pattern.column.size());
  result.origin.resize(pattern.column.size());
  std::vector<std::int64_t> next(turned.row_begin.begin(), turned.row_begin.end() - 1);
  std::int64_t position = 0;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    for (const std::int32_t column : pattern.row(row)) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(column)]++);
      turned.column[place] = static_cast<std::int32_t>(row);
      result.origin[place] = position++;
    }
  }
  return result;
}

std::string pattern_hash(const SparsePattern& pattern) {
  Hash hash;
  const std::int64_t sizes[] = {pattern.rows, pattern.columns};
  hash.add(sizes, sizeof(sizes));
  hash.add(pattern.row_begin.data(), pattern.row_begin.size() * sizeof(std::int64_t));
  hash.add(pattern.column.data(), pattern.column.size() * sizeof(std::int32_t));
  return hash.hex();
}

}  // namespace plait::tensor
