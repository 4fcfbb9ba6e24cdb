// Cuts each layer into one block per owner of its columns, with lists of the rows that travel.
#include "strategy/sparse_rows/cut_network.hpp"

#include <algorithm>
#include <map>

namespace plait::strategy::sparse_rows {

namespace {

/// Rows of one layer by owner, and the place of every row among its owner's.
struct Ownership {
  std::vector<std::vector<std::int32_t>> rows;
  std::vector<std::int32_t> place;

  Ownership() = default;
  Ownership(const std::vector<std::int32_t>& owners, int workers)
      : rows(static_cast<std::size_t>(workers)), place(owners.size()) {
    for (std::size_t row = 0; row < owners.size(); ++row) {
      auto& own = rows[static_cast<std::size_t>(owners[row])];
      place[row] = static_cast<std::int32_t>(own.size());
      own.push_back(static_cast<std::int32_t>(row));
    }
  }
};

/// The elements of some rows whose columns belong to one owner.
struct Piece {
  tensor::SparsePattern pattern{};
  std::vector<std::int64_t> positions{};  ///< in the whole weight
  std::vector<std::int32_t> columns{};    ///< of the whole, ascending; only of neighbours' pieces
};

/// The derivative is known from the result, and sparse layers can end in it.
bool follows_from_result(const graph::Node& node) {
  const ops::ActivationKind kind = std::get<ops::Activation>(node.layer).kind;
  return kind == ops::ActivationKind::relu || kind == ops::ActivationKind::tanh ||
         kind == ops::ActivationKind::clip;
}

/// Whose piece comes last: the own one is first.
int last_owner(const std::map<int, Piece>& pieces, int worker) {
  const int last = pieces.rbegin()->first;
  if (last != worker || pieces.size() == 1) return last;
  return std::next(pieces.rbegin())->first;
}

class Cutter {
 public:
  Cutter(const plan::Network& network, const std::vector<RowLayer>& layers, const RowOwners& owners,
         int workers)
      : whole_(network), layers_(layers), owners_(owners), workers_(workers) {
    cut_.network = {.name = network.name,
                    .blocks = {},
                    .tensors = {network.tensors.front()},
                    .input = network.input,
                    .input_type = network.input_type};
  }

  CutNetwork run() {
    for (std::size_t k = 0; k < layers_.size(); ++k) cut_layer(k);
    // The loss reads plain rows.
    cut_.logits = add_flatten(layers_.back(), "logits", cut_.parts.back().front().out);
    plan::complete(cut_.network);
    return std::move(cut_);
  }

 private:
  const std::string& name_of(const RowLayer& layer) const {
    return whole_.blocks[static_cast<std::size_t>(layer.block)].spec.name;
  }
  int add_tensor(std::int64_t elements) {
    cut_.network.tensors.push_back(elements);
    return static_cast<int>(cut_.network.tensors.size()) - 1;
  }
  int dst_of(int block) const { return cut_.network.blocks[static_cast<std::size_t>(block)].dst; }
  int add_block(plan::NetworkBlock block) {
    cut_.network.blocks.push_back(std::move(block));
    return cut_.network.size() - 1;
  }

  int add_flatten(const RowLayer& layer, const std::string& name, int src) {
    graph::BlockSpec spec{.name = name, .nodes = {}};
    spec.then("flatten", ops::Flatten{});
    const std::int64_t elements = cut_.network.tensors[static_cast<std::size_t>(src)];
    return add_block({.name = name,
                      .srcs = {src},
                      .dst = add_tensor(elements),
                      .spec = std::move(spec),
                      .whole = layer.block,
                      .whole_name = name_of(layer),
                      .share = 0});
  }

  void cut_layer(std::size_t k) {
    const Ownership own(owners_[k], workers_);
    std::vector<Part>& parts = cut_.parts.emplace_back(static_cast<std::size_t>(workers_));
    for (int worker = 0; worker < workers_; ++worker) {
      const auto& rows = own.rows[static_cast<std::size_t>(worker)];
      if (!rows.empty()) parts[static_cast<std::size_t>(worker)] = cut_rows(k, worker, rows);
    }
    before_ = own;
  }

  Part cut_rows(std::size_t k, int worker, const std::vector<std::int32_t>& rows) {
    const RowLayer& layer = layers_[k];
    const std::string& name = name_of(layer);
    const auto elements = static_cast<std::int64_t>(rows.size());
    std::map<int, Piece> pieces = split(k, worker, rows);
    Part part;
    int src = k == 0 ? 0 : cut_.parts[k - 1][static_cast<std::size_t>(worker)].out;
    if (layer.flatten) {
      part.flatten = add_flatten(layer, fmt::format("{}.flatten@{}", name, worker), src);
      src = dst_of(part.flatten);
    }
    part.in_place = layer.activation && follows_from_result(*layer.activation);
    const auto ends = [&](int owner) {
      return part.in_place && owner == last_owner(pieces, worker);
    };
    part.local = add_piece(layer, fmt::format("{}@{}", name, worker), std::move(pieces[worker]),
                           {.src = src, .activates = ends(worker)}, &rows);
    int sums = dst_of(part.local);
    for (auto& [owner, piece] : pieces) {
      if (owner == worker) continue;
      Halo halo{.owner = owner,
                .tensor = add_tensor(static_cast<std::int64_t>(piece.columns.size())),
                .list = static_cast<int>(cut_.row_lists.size())};
      cut_.row_lists.push_back(places(piece.columns));
      halo.block = add_piece(layer, fmt::format("{}@{}<{}", name, worker, owner), std::move(piece),
                             {.src = halo.tensor, .sums = sums, .activates = ends(owner)}, nullptr);
      sums = dst_of(halo.block);
      part.halos.push_back(halo);
    }
    part.out = sums;
    if (layer.activation) {
      if (!part.in_place) part.out = add_tensor(elements);
      graph::BlockSpec spec{.name = fmt::format("{}.{}@{}", name, layer.activation->name, worker),
                            .nodes = {}};
      spec.then(layer.activation->name, layer.activation->layer);
      part.activation = add_block({.name = spec.name,
                                   .srcs = {sums},
                                   .dst = part.out,
                                   .spec = spec,
                                   .whole = layer.block,
                                   .whole_name = name,
                                   .share = 0});
    }
    return part;
  }

  std::vector<std::int32_t> places(const std::vector<std::int32_t>& rows) const {
    std::vector<std::int32_t> result;
    result.reserve(rows.size());
    for (const std::int32_t row : rows) {
      result.push_back(before_.place[static_cast<std::size_t>(row)]);
    }
    return result;
  }

  /// By owner of the columns; the first layer's input belongs to everybody.
  std::map<int, Piece> split(std::size_t k, int worker, const std::vector<std::int32_t>& rows) {
    const tensor::SparsePattern& pattern = *layers_[k].pattern;
    std::map<int, Piece> pieces;
    pieces[worker];  // also where it has no elements: it begins the sums
    const auto owner_of = [&](std::int32_t column) {
      return k == 0 ? worker : owners_[k - 1][static_cast<std::size_t>(column)];
    };
    for (const std::int32_t row : rows) {
      for (const std::int32_t column : pattern.row(row)) {
        if (const int owner = owner_of(column); owner != worker) {
          pieces[owner].columns.push_back(column);
        }
      }
    }
    std::vector<std::int32_t> place = k == 0 ? std::vector<std::int32_t>{} : before_.place;
    for (auto& [owner, piece] : pieces) {
      std::ranges::sort(piece.columns);
      piece.columns.erase(std::unique(piece.columns.begin(), piece.columns.end()),
                          piece.columns.end());
      for (std::size_t i = 0; i < piece.columns.size(); ++i) {
        place[static_cast<std::size_t>(piece.columns[i])] = static_cast<std::int32_t>(i);
      }
      piece.pattern.rows = static_cast<std::int64_t>(rows.size());
      piece.pattern.columns = static_cast<std::int64_t>(piece.columns.size());
    }
    pieces[worker].pattern.columns =
        k == 0 ? pattern.columns
               : static_cast<std::int64_t>(before_.rows[static_cast<std::size_t>(worker)].size());
    for (const std::int32_t row : rows) {
      std::int64_t position = pattern.row_begin[static_cast<std::size_t>(row)];
      for (const std::int32_t column : pattern.row(row)) {
        Piece& piece = pieces[owner_of(column)];
        piece.pattern.column.push_back(k == 0 ? column : place[static_cast<std::size_t>(column)]);
        piece.positions.push_back(position++);
      }
      for (auto& [owner, piece] : pieces) piece.pattern.row_begin.push_back(piece.pattern.size());
    }
    return pieces;
  }

  struct Ends {
    int src = 0;
    int sums = -1;  ///< that the piece adds to; -1: it begins them
    bool activates = false;
  };
  /// `bias_rows`: rows whose bias begins the sums; null: the piece adds to them. Its result is a
  /// new tensor.
  int add_piece(const RowLayer& layer, const std::string& name, Piece piece, const Ends& ends,
                const std::vector<std::int32_t>* bias_rows) {
    auto names = std::make_shared<ops::LinearPiece>();
    const bool bias = layer.bias && bias_rows != nullptr;
    names->weight = std::make_shared<const ops::ParameterPart>(
        ops::ParameterPart{.name = layer.name + ".weight",
                           .whole = layer.weight_spec,
                           .positions = std::move(piece.positions)});
    if (bias) {
      names->bias = std::make_shared<const ops::ParameterPart>(
          ops::ParameterPart{.name = layer.name + ".bias",
                             .whole = layer.bias_spec,
                             .positions = {bias_rows->begin(), bias_rows->end()}});
    }
    std::optional<ops::Activation> activation;
    if (ends.activates) activation = std::get<ops::Activation>(layer.activation->layer);
    const std::int64_t size = piece.pattern.size();
    const std::int64_t rows = piece.pattern.rows;
    graph::BlockSpec spec{.name = name, .nodes = {}};
    const int linear = spec.then(
        layer.linear.name.empty() ? "linear" : layer.linear.name,
        ops::SparseLinear{
            .pattern = std::make_shared<const tensor::SparsePattern>(std::move(piece.pattern)),
            .bias = bias,
            .piece = std::move(names),
            .ends_in = activation});
    std::vector<int> srcs{ends.src};
    if (ends.sums >= 0) {
      spec.join("sum", ops::Add{}, {linear, graph::block_input(1)});
      srcs.push_back(ends.sums);
    }
    return add_block(
        {.name = name,
         .srcs = std::move(srcs),
         .dst = add_tensor(rows),
         .parameters = size + (bias ? rows : 0),
         .macs = size,
         .spec = std::move(spec),
         .whole = layer.block,
         .whole_name = name_of(layer),
         .share = static_cast<double>(size) /
                  static_cast<double>(std::max<std::int64_t>(1, layer.pattern->size()))});
  }

  const plan::Network& whole_;
  const std::vector<RowLayer>& layers_;
  const RowOwners& owners_;
  int workers_;
  CutNetwork cut_;
  Ownership before_;
};

}  // namespace

CutNetwork cut_network(const plan::Network& network, const std::vector<RowLayer>& layers,
                       const RowOwners& owners, int workers) {
  return Cutter(network, layers, owners, workers).run();
}

}  // namespace plait::strategy::sparse_rows
