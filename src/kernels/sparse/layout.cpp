// Row and column classes of a pattern, the tiles cut from them, and a thread's share of the tiles
// by cost.
#include "kernels/sparse/layout.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "base/rounding.hpp"

namespace plait::kernels::sparse {

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::string_view bytes(std::span<const std::int32_t> list) {
  return {reinterpret_cast<const char*>(list.data()), list.size_bytes()};
}

void sum_up(std::vector<std::int32_t>& counts) {
  for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
}

/// Multiply-adds and what a tile costs beside them.
std::int64_t cost(const Tile& tile) {
  return (tile.end - tile.begin) * (tile.count + 1) + 8 * tile.count + 4;
}

/// Cuts every class into tiles of nearly equal size. `begin` has the inputs of the classes.
Tiles cut(const Classes& classes, const std::vector<std::int64_t>& begin, std::int32_t most) {
  Tiles tiles;
  tiles.before.push_back(0);
  std::int64_t weights = 0;
  for (std::int64_t c = 0; c < classes.count(); ++c) {
    const std::int32_t size = classes.size(c);
    const std::int64_t pieces = divide_up(size, most);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const auto lane = static_cast<std::int32_t>(size * piece / pieces);
      const auto end = static_cast<std::int32_t>(size * (piece + 1) / pieces);
      tiles.tile.push_back({.member = classes.begin[index(c)] + lane,
                            .count = end - lane,
                            .lane = lane,
                            .class_size = size,
                            .begin = begin[index(c)],
                            .end = begin[index(c) + 1],
                            .weights = weights});
      tiles.before.push_back(tiles.before.back() + cost(tiles.tile.back()));
    }
    weights += size * (begin[index(c) + 1] - begin[index(c)]);
  }
  return tiles;
}

/// The first tile that begins at or after `member` / `team` of the cost.
TilePosition position(const Tiles& tiles, std::int64_t panels, int member, int team) {
  const std::int64_t all = tiles.before.back();
  const std::int64_t at = all * panels * member / team;
  if (all == 0 || at >= all * panels) return {panels, 0};
  const auto found = std::ranges::lower_bound(tiles.before, at % all);
  const std::int64_t tile = found - tiles.before.begin();
  if (tile == std::ssize(tiles.tile)) return {at / all + 1, 0};
  return {at / all, tile};
}

/// The places in the row class's list of columns, by (column class, column).
std::vector<std::int32_t> ranks(std::span<const std::int32_t> list, const Classes& columns) {
  std::vector<std::int32_t> rank(list.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::ranges::stable_sort(rank, {},
                           [&](std::int32_t k) { return columns.of[index(list[index(k)])]; });
  return rank;
}

/// Where the inputs of every column class begin.
std::vector<std::int64_t> column_inputs(const tensor::SparsePattern& turned,
                                        const Classes& columns) {
  std::vector<std::int64_t> begin{0};
  for (std::int64_t c = 0; c < columns.count(); ++c) {
    const std::int32_t first = columns.member[index(columns.begin[index(c)])];
    begin.push_back(begin.back() + std::ssize(turned.row(first)));
  }
  return begin;
}

}  // namespace

Classes row_classes(const tensor::SparsePattern& pattern) {
  Classes classes;
  classes.of.reserve(index(pattern.rows));
  classes.begin.push_back(0);
  std::unordered_map<std::string_view, std::int32_t> known;
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    const auto next = static_cast<std::int32_t>(known.size());
    const std::int32_t c = known.try_emplace(bytes(pattern.row(i)), next).first->second;
    if (c == next) classes.begin.push_back(0);
    ++classes.begin[index(c) + 1];
    classes.of.push_back(c);
  }
  sum_up(classes.begin);
  classes.member.resize(classes.of.size());
  std::vector<std::int32_t> next(classes.begin.begin(), classes.begin.end() - 1);
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    const auto place = next[index(classes.of[index(i)])]++;
    classes.member[index(place)] = static_cast<std::int32_t>(i);
  }
  return classes;
}

TileRange share_of(const Tiles& tiles, std::int64_t panels, int member, int team) {
  return {position(tiles, panels, member, team), position(tiles, panels, member + 1, team)};
}

WeightLayout::WeightLayout(const tensor::SparsePattern& pattern) : rows(row_classes(pattern)) {
  if (pattern.size() > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument("sparse layout: more than 2^31 weights");
  }
  const tensor::SparsePattern turned = tensor::transposed(pattern).pattern;
  columns = row_classes(turned);
  const std::vector<std::int64_t> column_begin = column_inputs(turned, columns);
  std::vector<std::int64_t> row_begin{0};
  for (std::vector<std::int32_t>* list : {&row, &weight, &stride}) {
    list->resize(index(column_begin.back()));
  }
  origin.reserve(pattern.column.size());
  std::vector<std::int64_t> next(column_begin.begin(), column_begin.end() - 1);
  for (std::int64_t c = 0; c < rows.count(); ++c) {
    const auto members =
        std::span(rows.member).subspan(index(rows.begin[index(c)]), index(rows.size(c)));
    const auto list = pattern.row(members.front());
    std::int32_t column_class = -1;
    for (const std::int32_t rank : ranks(list, columns)) {
      const std::int32_t j = list[index(rank)];
      const bool new_class = columns.of[index(j)] != column_class;
      column_class = columns.of[index(j)];
      column.push_back(j);
      for (const std::int32_t i : members) {
        if (new_class) {
          const std::size_t entry = index(next[index(column_class)]++);
          row[entry] = i;
          weight[entry] = static_cast<std::int32_t>(origin.size());
          stride[entry] = rows.size(c);
        }
        origin.push_back(static_cast<std::int32_t>(pattern.row_begin[index(i)] + rank));
      }
    }
    row_begin.push_back(std::ssize(column));
  }
  forward = cut(rows, row_begin, kProductTile);
  gradient = cut(rows, row_begin, kGradientTile);
  backward_data = cut(columns, column_begin, kProductTile);
}

}  // namespace plait::kernels::sparse
