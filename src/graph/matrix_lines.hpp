// Sparse matrices out of text files: elements that remember their line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::graph {

/// Most rows or columns of a matrix from a file; a row costs memory even when it is empty.
constexpr std::int64_t kMaxMatrixSide = std::int64_t{1} << 24;

/// Counts rows and columns from 0, lines from 1.
struct LineEntry {
  std::int32_t row = 0;
  std::int32_t column = 0;
  float value = 0;
  std::uint32_t line = 0;
};

/// UserError with file and line where an element is there twice.
tensor::SparseMatrix matrix_of_lines(std::int64_t rows, std::int64_t columns,
                                     std::vector<LineEntry> entries, const std::string& source);

}  // namespace plait::graph
