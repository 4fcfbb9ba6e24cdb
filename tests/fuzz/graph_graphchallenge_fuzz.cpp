// Any text given to the reader of GraphChallenge layers is a square matrix of so many neurons or
// refused with a UserError.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "graph/graphchallenge.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t neurons = 16;
  try {
    const plait::tensor::SparseMatrix matrix = plait::graph::parse_graphchallenge_layer(
        {reinterpret_cast<const char*>(data), size}, neurons, "fuzz");
    const plait::tensor::SparsePattern& pattern = *matrix.pattern;
    if (pattern.rows != neurons || pattern.columns != neurons) std::abort();
    if (matrix.values->size() != pattern.column.size()) std::abort();
    if (pattern.size() > static_cast<std::int64_t>(size)) std::abort();
    for (const std::int32_t column : pattern.column) {
      if (column < 0 || column >= neurons) std::abort();
    }
  } catch (const plait::UserError&) {
  }
  return 0;
}
