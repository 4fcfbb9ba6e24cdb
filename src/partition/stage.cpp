// Merges equal rows and equal columns of a layer, and splits a vertex again where rows must part.
#include "partition/stage.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace plait::partition {
namespace {

std::string_view bytes_of(std::span<const std::int32_t> list) {
  return {reinterpret_cast<const char*>(list.data()), list.size_bytes()};
}

/// The patterns of the first row of every vertex.
Lists first_rows(const tensor::SparsePattern& pattern,
                 const std::vector<std::int32_t>& vertex_of_row) {
  Lists lists;
  for (std::size_t row = 0; row < vertex_of_row.size(); ++row) {
    if (static_cast<std::size_t>(vertex_of_row[row]) < lists.size()) continue;
    lists.push_back(pattern.row(static_cast<std::int64_t>(row)));
  }
  return lists;
}

void make_nets(Stage& stage, const tensor::SparsePattern& pattern, bool merge) {
  const Lists readers =
      turned(first_rows(pattern, stage.vertex_of_row), static_cast<std::size_t>(pattern.columns));
  std::vector<std::int32_t> number(readers.size());
  std::iota(number.begin(), number.end(), 0);
  if (merge) number = number_equal(readers);
  stage.net_of_column.assign(readers.size(), -1);
  std::vector<std::int32_t> net(readers.size(), -1);
  for (std::size_t column = 0; column < readers.size(); ++column) {
    if (readers[column].empty()) continue;
    std::int32_t& its = net[static_cast<std::size_t>(number[column])];
    if (its < 0) {
      its = static_cast<std::int32_t>(stage.net_columns.size());
      stage.net_columns.push_back(0);
      stage.pins.push_back(readers[column]);
    }
    stage.net_of_column[column] = its;
    ++stage.net_columns[static_cast<std::size_t>(its)];
  }
}

/// Numbers the rows by what makes them equal.
std::vector<std::int32_t> row_classes(const Lists& what, bool merge) {
  if (merge) return number_equal(what);
  std::vector<std::int32_t> number(what.size());
  std::iota(number.begin(), number.end(), 0);
  return number;
}

void set_vertices(Stage& stage, std::vector<std::int32_t> vertex_of_row,
                  const std::vector<std::int32_t>& weight_of_row) {
  stage.vertex_of_row = std::move(vertex_of_row);
  const auto last = std::ranges::max_element(stage.vertex_of_row);
  const auto count = static_cast<std::size_t>(*last) + 1;
  stage.rows.assign(count, 0);
  stage.row_weight.assign(count, 0);
  for (std::size_t row = 0; row < stage.vertex_of_row.size(); ++row) {
    const auto vertex = static_cast<std::size_t>(stage.vertex_of_row[row]);
    ++stage.rows[vertex];
    stage.row_weight[vertex] = weight_of_row[row];
  }
}

std::vector<std::int32_t> row_weights(const tensor::SparsePattern& pattern) {
  std::vector<std::int32_t> weights;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    weights.push_back(static_cast<std::int32_t>(pattern.row(row).size()));
  }
  return weights;
}

/// Rows of the first stage: equal where the next stage reads them alike and they weigh the same.
Stage first_stage(const std::vector<std::int32_t>& weights, const Stage* next, bool merge) {
  Lists what;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const std::int32_t net = next != nullptr ? next->net_of_column[row] : -1;
    what.push_back(std::vector{weights[row], net});
  }
  Stage stage;
  set_vertices(stage, row_classes(what, merge), weights);
  stage.nets.begin.assign(stage.vertices() + 1, 0);
  return stage;
}

/// A row that reads nothing is equal to those that are read alike, others to those that read alike.
Stage later_stage(const tensor::SparsePattern& pattern, const Stage* next, bool merge) {
  Lists what;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    const std::int32_t net =
        next != nullptr ? next->net_of_column[static_cast<std::size_t>(row)] : -1;
    const std::int32_t mark = -2 - net;  // no column
    what.push_back(pattern.row(row).empty() ? std::span(&mark, 1) : pattern.row(row));
  }
  Stage stage;
  set_vertices(stage, row_classes(what, merge), row_weights(pattern));
  make_nets(stage, pattern, merge);
  stage.nets = turned(stage.pins, stage.vertices());
  return stage;
}

}  // namespace

void Lists::push_back(std::span<const std::int32_t> list) {
  item.insert(item.end(), list.begin(), list.end());
  begin.push_back(static_cast<std::int32_t>(item.size()));
}

Lists turned(const Lists& lists, std::size_t count) {
  Lists result;
  result.begin.assign(count + 1, 0);
  for (const std::int32_t j : lists.item) ++result.begin[static_cast<std::size_t>(j) + 1];
  for (std::size_t j = 1; j <= count; ++j) result.begin[j] += result.begin[j - 1];
  result.item.resize(lists.item.size());
  std::vector<std::int32_t> next(result.begin.begin(), result.begin.end() - 1);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (const std::int32_t j : lists[i]) {
      auto& place = next[static_cast<std::size_t>(j)];
      result.item[static_cast<std::size_t>(place++)] = static_cast<std::int32_t>(i);
    }
  }
  return result;
}

std::vector<std::int32_t> number_equal(const Lists& lists) {
  std::unordered_map<std::string_view, std::int32_t> numbers;
  numbers.reserve(lists.size());
  std::vector<std::int32_t> result;
  result.reserve(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto number = static_cast<std::int32_t>(numbers.size());
    result.push_back(numbers.emplace(bytes_of(lists[i]), number).first->second);
  }
  return result;
}

std::int64_t Stage::weight() const {
  std::int64_t sum = 0;
  for (std::size_t vertex = 0; vertex < vertices(); ++vertex) sum += weight(vertex);
  return sum;
}

void Stage::split(std::span<const std::int32_t> some_rows) {
  const auto from = static_cast<std::size_t>(vertex_of_row[static_cast<std::size_t>(some_rows[0])]);
  const auto fresh = static_cast<std::int32_t>(vertices());
  for (const std::int32_t row : some_rows) vertex_of_row[static_cast<std::size_t>(row)] = fresh;
  rows[from] -= static_cast<std::int32_t>(some_rows.size());
  rows.push_back(static_cast<std::int32_t>(some_rows.size()));
  row_weight.push_back(row_weight[from]);
  const std::vector<std::int32_t> same(nets[from].begin(), nets[from].end());
  nets.push_back(same);
  pins = turned(nets, net_columns.size());
}

std::vector<Stage> make_stages(SparseLayers layers, bool own_input, bool merge) {
  std::vector<Stage> stages;  // last first
  const Stage* next = nullptr;
  stages.reserve(layers.size() + 1);
  for (std::size_t k = layers.size(); k-- > 0;) {
    const tensor::SparsePattern& pattern = *layers[k];
    stages.push_back(k == 0 && !own_input ? first_stage(row_weights(pattern), next, merge)
                                          : later_stage(pattern, next, merge));
    next = &stages.back();
  }
  if (own_input) {
    const std::vector<std::int32_t> ones(static_cast<std::size_t>(layers[0]->columns), 1);
    stages.push_back(first_stage(ones, next, merge));
  }
  std::ranges::reverse(stages);
  return stages;
}

}  // namespace plait::partition
