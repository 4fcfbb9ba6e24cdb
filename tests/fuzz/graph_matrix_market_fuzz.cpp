// Any text given to the Matrix Market reader is a sound matrix or refused with a UserError; a
// matrix is written and read back as it was.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "graph/matrix_market.hpp"

namespace {

void expect_sound(const plait::tensor::SparseMatrix& matrix) {
  const plait::tensor::SparsePattern& pattern = *matrix.pattern;
  if (static_cast<std::int64_t>(pattern.row_begin.size()) != pattern.rows + 1) std::abort();
  if (pattern.row_begin.back() != pattern.size()) std::abort();
  if (matrix.values != nullptr && matrix.values->size() != pattern.column.size()) std::abort();
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    std::int32_t before = -1;
    for (const std::int32_t column : pattern.row(i)) {
      if (column <= before || column >= pattern.columns) std::abort();
      before = column;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plait::tensor::SparseMatrix matrix;
  try {
    matrix = plait::graph::parse_matrix_market({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const plait::UserError&) {
    return 0;
  }
  expect_sound(matrix);
  const plait::tensor::SparseMatrix again =
      plait::graph::parse_matrix_market(plait::graph::write_matrix_market(matrix), "again");
  if (!(*again.pattern == *matrix.pattern)) std::abort();
  if ((again.values == nullptr) != (matrix.values == nullptr)) std::abort();
  if (matrix.values != nullptr && *again.values != *matrix.values) std::abort();
  return 0;
}
