// Sorts the elements of a text file into a matrix; refuses an element that is there twice, by its
// line.
#include "graph/matrix_lines.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"

namespace plait::graph {

namespace {

/// The first repetition in the file, not in the matrix.
void refuse_twice(const std::vector<LineEntry>& sorted, const std::string& source) {
  const LineEntry* again = nullptr;
  std::uint32_t before = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const LineEntry& last = sorted[i - 1];
    const LineEntry& entry = sorted[i];
    if (last.row != entry.row || last.column != entry.column) continue;
    if (again != nullptr && again->line <= entry.line) continue;
    again = &entry;
    before = last.line;
  }
  if (again == nullptr) return;
  user_error("{}:{}: the same element as in line {}; an element may occur only once", source,
             again->line, before);
}

}  // namespace

tensor::SparseMatrix matrix_of_lines(std::int64_t rows, std::int64_t columns,
                                     std::vector<LineEntry> entries, const std::string& source) {
  const auto place = [](const LineEntry& entry) {
    return std::tuple(entry.row, entry.column, entry.line);
  };
  if (!std::ranges::is_sorted(entries, {}, place)) std::ranges::sort(entries, {}, place);
  refuse_twice(entries, source);
  std::vector<tensor::MatrixEntry> placed(entries.size());
  std::ranges::transform(entries, placed.begin(), [](const LineEntry& entry) {
    return tensor::MatrixEntry{entry.row, entry.column, entry.value};
  });
  return tensor::make_sparse_matrix(rows, columns, std::move(placed), source);
}

}  // namespace plait::graph
