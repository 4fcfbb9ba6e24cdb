// Sorts the neurons between layers by who reads them, and renumbers the matrices accordingly.
#include "kernels/sparse/neuron_order.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/sparse/layout.hpp"

namespace plait::kernels::sparse {

namespace {

using Neurons = std::vector<std::int32_t>;

/// Of rows and columns: order[new] = old.
tensor::SparseMatrix renumbered(const tensor::SparseMatrix& matrix, const Neurons& rows,
                                const Neurons& place) {
  const tensor::SparsePattern& old = *matrix.pattern;
  tensor::SparsePattern pattern{
      .rows = old.rows, .columns = old.columns, .row_begin = {0}, .column = {}};
  std::vector<float> values;
  std::vector<std::pair<std::int32_t, float>> row;
  for (const std::int32_t i : rows) {
    row.clear();
    auto value = matrix.values->begin() + old.row_begin[static_cast<std::size_t>(i)];
    for (const std::int32_t j : old.row(i)) {
      row.emplace_back(place[static_cast<std::size_t>(j)], *value++);
    }
    std::ranges::sort(row);
    for (const auto& [column, weight] : row) {
      pattern.column.push_back(column);
      values.push_back(weight);
    }
    pattern.row_begin.push_back(pattern.size());
  }
  return {std::make_shared<const tensor::SparsePattern>(std::move(pattern)),
          std::make_shared<const std::vector<float>>(std::move(values))};
}

Neurons inverse(const Neurons& order) {
  Neurons place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  }
  return place;
}

Neurons column_order(const tensor::SparsePattern& pattern) {
  return row_classes(tensor::transposed(pattern).pattern).member;
}

}  // namespace

OrderedChain ordered(const std::vector<tensor::SparseMatrix>& layers) {
  OrderedChain chain;
  Neurons columns = column_order(*layers.front().pattern);
  chain.place = inverse(columns);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Neurons rows(static_cast<std::size_t>(layers[i].pattern->rows));
    std::iota(rows.begin(), rows.end(), 0);
    if (i + 1 < layers.size()) rows = column_order(*layers[i + 1].pattern);
    chain.layers.push_back(renumbered(layers[i], rows, inverse(columns)));
    columns = std::move(rows);
  }
  return chain;
}

}  // namespace plait::kernels::sparse
