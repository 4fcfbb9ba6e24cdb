// Sparse matrices as Matrix Market files, the coordinate format of matrix collections.
#pragma once

#include <string>
#include <string_view>

#include "tensor/sparse_pattern.hpp"

namespace plait::graph {

/// coordinate; real, integer or pattern (without values); general, symmetric or skew-symmetric
/// (made whole). UserError with file and line for anything else. Memory follows the size of the
/// file, not what its header promises.
tensor::SparseMatrix read_matrix_market(const std::string& file);
tensor::SparseMatrix parse_matrix_market(std::string_view text, const std::string& source);

/// The inverse, values in as many digits as bring back their bits.
std::string write_matrix_market(const tensor::SparseMatrix& matrix);

}  // namespace plait::graph
