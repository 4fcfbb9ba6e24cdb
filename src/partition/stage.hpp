// Stage: a layer as a hypergraph, with equal rows and equal columns merged. The partitioners work
// on stages.
//
// A class of rows (all with the same pattern) is a vertex: as long as its rows stay together they
// are read and moved as one. A net is a class of columns (all with the same readers). With
//   M = columns of a net,  n(p) = those of them owned by part p in the stage before,
// the words to send for a net are the sum over the parts p that read it of M - n(p). That is exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partition/partition.hpp"

namespace plait::partition {

/// Lists of numbers, one after the other.
struct Lists {
  std::vector<std::int32_t> begin{0};
  std::vector<std::int32_t> item;

  std::size_t size() const { return begin.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t i) const {
    return std::span(item).subspan(static_cast<std::size_t>(begin[i]),
                                   static_cast<std::size_t>(begin[i + 1] - begin[i]));
  }
  void push_back(std::span<const std::int32_t> list);
};
/// List j of the result has the i whose list has j.
Lists turned(const Lists& lists, std::size_t count);
/// Numbers equal lists alike, in the order of their first; linear time.
std::vector<std::int32_t> number_equal(const Lists& lists);

struct Stage {
  std::vector<std::int32_t> vertex_of_row;
  std::vector<std::int32_t> net_of_column;  ///< -1: no reader; empty: costs nothing
  std::vector<std::int32_t> row_weight;     ///< per vertex; its rows weigh alike
  std::vector<std::int32_t> rows;           ///< per vertex: how many
  std::vector<std::int32_t> net_columns;    ///< per net: how many
  Lists nets;                               ///< per vertex
  Lists pins;                               ///< per net: vertices

  std::size_t vertices() const { return rows.size(); }
  std::int64_t weight(std::size_t vertex) const {
    return std::int64_t{row_weight[vertex]} * rows[vertex];
  }
  std::int64_t weight() const;

  /// Moves these rows of one vertex (not all of them) to a new vertex, the last.
  void split(std::span<const std::int32_t> some_rows);
};

/// One stage per layer; with own_input one more before them, whose rows are the network's inputs,
/// each of weight 1. A first stage costs nothing and merges rows that are read alike. Without
/// `merge` every row is a vertex.
std::vector<Stage> make_stages(SparseLayers layers, bool own_input, bool merge);

}  // namespace plait::partition
