// Where the weights of a sparse matrix lie, and the register tiles that walk them.
//
// Rows with equal column sets are a row class, columns with equal row sets a column class. A row
// class of R rows and K columns is a dense K x R block of weights, column after column; its columns
// lie by (column class, column). So the weights of one row and the columns of one class are R
// apart. A matrix without structure has classes of one.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/sparse_pattern.hpp"

namespace plait::kernels::sparse {

/// Groups of equal lists. Classes are in the order of their first members; members ascend.
struct Classes {
  std::vector<std::int32_t> of;      ///< class of every row
  std::vector<std::int32_t> begin;   ///< classes + 1 entries, into members
  std::vector<std::int32_t> member;  ///< rows, class by class

  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int32_t size(std::int64_t c) const {
    const auto at = static_cast<std::size_t>(c);
    return begin[at + 1] - begin[at];
  }
};
/// Of the rows of a pattern.
Classes row_classes(const tensor::SparsePattern& pattern);

/// A few outputs of one class, and the inputs that they all read.
struct Tile {
  std::int32_t member = 0;      ///< the first output, an index into Classes::member
  std::int32_t count = 0;       ///< of outputs
  std::int32_t lane = 0;        ///< of the first output in its class
  std::int32_t class_size = 0;  ///< R
  std::int64_t begin = 0;       ///< inputs
  std::int64_t end = 0;
  std::int64_t weights = 0;  ///< the class's first (forward only)
};

/// Tiles in order; before[i] is the cost of the first i.
struct Tiles {
  std::vector<Tile> tile;
  std::vector<std::int64_t> before;
};

/// Tile i of a panel; ranges of them are what threads get.
struct TilePosition {
  std::int64_t panel = 0;
  std::int64_t tile = 0;
};
struct TileRange {
  TilePosition begin;
  TilePosition end;
};
/// The share of one of `team` members in `panels` times all tiles, panel by panel.
TileRange share_of(const Tiles& tiles, std::int64_t panels, int member, int team);

struct WeightLayout {
  explicit WeightLayout(const tensor::SparsePattern& pattern);

  Classes rows;
  Classes columns;
  std::vector<std::int32_t> column;  ///< inputs of the row classes
  std::vector<std::int32_t> row;     ///< inputs of the column classes
  /// Beside `row`: the weight of the class's first column, and from there to the next column's.
  std::vector<std::int32_t> weight;
  std::vector<std::int32_t> stride;
  std::vector<std::int32_t> origin;  ///< of every weight, in the pattern's order

  Tiles forward;        ///< of rows
  Tiles backward_data;  ///< of columns
  Tiles gradient;       ///< of rows, small ones
};

/// Outputs of a tile at most.
constexpr std::int32_t kProductTile = 6;
constexpr std::int32_t kGradientTile = 4;

}  // namespace plait::kernels::sparse
