// Writes the torn network: copies of the model's blocks, entry and coarse blocks, differences and
// sums.
#include "strategy/parareal/torn_network.hpp"

#include <algorithm>
#include <map>

#include "strategy/parareal/added_blocks.hpp"

namespace plait::strategy {

namespace {

class Builder {
 public:
  Builder(const TornChain& chain, const Tearing& tearing, int sweeps, Sweeping sweeping)
      : chain_(chain), tearing_(tearing), sweeping_(sweeping) {
    const plan::Network& model = chain.network();
    torn_.network.name = model.name;
    torn_.network.input = model.input;
    torn_.network.tensors.push_back(model.tensors.front());
    torn_.cells.assign(static_cast<std::size_t>(sweeps),
                       std::vector<TornCell>(static_cast<std::size_t>(tearing.pieces())));
    coarse_.resize(static_cast<std::size_t>(tearing.pieces()));
  }

  TornNetwork run() {
    enter();
    for (int sweep = 0; sweep < torn_.sweeps(); ++sweep) {
      for (int piece = 0; piece < pieces(); ++piece) {
        if (!wanted(sweep, piece)) continue;
        // Before the body: backwards it adds to what the body has made of the gradient of x.
        if (!exact(sweep, piece)) difference(sweep, piece);
        body(sweep, piece);
        correct(sweep, piece);
      }
    }
    unused_coarse();
    head();
    plan::complete(torn_.network);
    return std::move(torn_);
  }

 private:
  int pieces() const { return tearing_.pieces(); }
  TornCell& cell(int sweep, int piece) {
    return torn_.cells[static_cast<std::size_t>(sweep)][static_cast<std::size_t>(piece)];
  }
  bool wanted(int sweep, int piece) const {
    if (sweeping_ == Sweeping::all) return true;
    return piece >= sweep && piece <= pieces() - torn_.sweeps() + sweep;
  }
  /// The running statistics of a piece, or of its F_j, in a sweep: those of the model in the last
  /// sweep that the result depends on, in those before a set for each.
  int state_set(int sweep, int piece, bool coarse) const {
    if (sweeping_ == Sweeping::all && tearing_.sweeps != torn_.sweeps()) return 0;
    const int first = std::max(0, piece - (pieces() - torn_.sweeps()));
    const int last = std::min(coarse ? piece - 1 : piece, torn_.sweeps() - 1);
    return first <= sweep && sweep < last ? sweep + 1 : 0;
  }
  /// Of the block at `index`. A home with several has as many as there are sweeps, used or not: the
  /// names of saved weights tell how many those were.
  void keep_state(int index, int set) {
    plan::Network& network = torn_.network;
    plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(index)];
    block.state_set = block.state > 0 ? set : 0;
    plan::NetworkBlock& home = network.blocks[static_cast<std::size_t>(network.home_of(index))];
    const std::int64_t one = home.state / home.state_sets;
    if (block.state_set > 0) home.state_sets = torn_.sweeps();
    home.state = one * home.state_sets;
  }
  bool exact(int sweep, int piece) const {
    return piece == 0 || (sweeping_ == Sweeping::needed && piece == sweep);
  }
  const tensor::Shape& shape_before(int piece) const {
    return chain_.shape(piece < pieces() ? tearing_.first[static_cast<std::size_t>(piece)]
                                         : tearing_.head);
  }
  const std::string& name_of(int piece) const {
    return chain_.name(tearing_.first[static_cast<std::size_t>(piece)]);
  }
  static std::string in_sweep(const std::string& name, int sweep) {
    return sweep == 0 ? name : fmt::format("{}#{}", name, sweep + 1);
  }

  int add_tensor(std::int64_t elements) {
    torn_.network.tensors.push_back(elements);
    return static_cast<int>(torn_.network.tensors.size()) - 1;
  }
  int add(plan::NetworkBlock block, std::vector<int> srcs, int dst, int piece) {
    block.srcs = std::move(srcs);
    block.dst = dst;
    block.piece = piece;
    torn_.network.blocks.push_back(std::move(block));
    return torn_.network.size() - 1;
  }
  /// Block `block` of the model, computed from the tensors that `now` has for its own; its result
  /// is a new tensor.
  int add_of_model(int block, std::map<int, int>& now, int sweep, int piece) {
    const plan::Network& model = chain_.network();
    plan::NetworkBlock added = model.blocks[static_cast<std::size_t>(block)];
    const std::int64_t elements = model.tensors[static_cast<std::size_t>(added.dst)];
    added.whole = block;
    added.whole_name = added.name;
    int& home = homes_.try_emplace(block, -1).first->second;
    added.weights_of = home;
    if (home >= 0) added.name = in_sweep(added.name, sweep);
    std::vector<int> srcs;
    for (const int tensor : added.srcs) srcs.push_back(now.at(tensor));
    const int written = added.dst;
    const int index = add(std::move(added), std::move(srcs), add_tensor(elements), piece);
    now[written] = dst_of(index);
    if (home < 0) home = index;
    keep_state(index, state_set(sweep, piece, false));
    return index;
  }
  int dst_of(int block) const { return torn_.network.blocks[static_cast<std::size_t>(block)].dst; }

  /// What `part` computes of tensor `src`, as further blocks; or the same once more, of the blocks
  /// `homes`.
  std::vector<int> add_part(const plan::Network& part, int src, int piece,
                            const std::vector<int>& homes = {}) {
    std::vector<int> now{src};  // by tensor of the part
    std::vector<int> added;
    for (const plan::NetworkBlock& block : part.blocks) {
      plan::NetworkBlock copy = block;
      if (!homes.empty()) copy.weights_of = homes[added.size()];
      std::vector<int> srcs;
      for (const int tensor : block.srcs) srcs.push_back(now[static_cast<std::size_t>(tensor)]);
      now.push_back(add_tensor(part.tensors[static_cast<std::size_t>(block.dst)]));
      added.push_back(add(std::move(copy), std::move(srcs), now.back(), piece));
    }
    return added;
  }

  void enter() {
    torn_.enter.emplace_back();
    const tensor::Shape& image = chain_.network().input;
    for (int piece = 1; piece < pieces(); ++piece) {
      const graph::BlockSpec spec =
          enter_block(enter_name(name_of(piece)), image, shape_before(piece),
                      chain_.is_rectified(tearing_.first[static_cast<std::size_t>(piece)]));
      torn_.enter.push_back(add_part(added_network(spec, image), 0, piece));
    }
  }

  int input_of(int sweep, int piece) {
    if (piece == 0) return 0;
    return sweep == 0 ? dst_of(torn_.enter[static_cast<std::size_t>(piece)].back())
                      : cell(sweep - 1, piece - 1).u;
  }

  void body(int sweep, int piece) {
    TornCell& here = cell(sweep, piece);
    here.x = input_of(sweep, piece);
    const int first = tearing_.first[static_cast<std::size_t>(piece)];
    const int end = tearing_.end(piece + 1);
    std::map<int, int> now{{chain_.crossing(first), here.x}};
    for (int b = first; b < end; ++b) here.body.push_back(add_of_model(b, now, sweep, piece));
    here.y = now.at(chain_.crossing(end));
  }

  /// `layer` of two tensors, with a new one for the result.
  int add_of_two(const std::string& name, const ops::Operation& layer, std::vector<int> srcs,
                 int piece) {
    graph::BlockSpec spec{.name = name, .nodes = {}};
    spec.join("", layer, {graph::block_input(0), graph::block_input(1)});
    const int dst = add_tensor(torn_.network.tensors[static_cast<std::size_t>(srcs.front())]);
    return add({.name = name, .spec = std::move(spec), .added = true}, std::move(srcs), dst, piece);
  }

  void difference(int sweep, int piece) {
    TornCell& here = cell(sweep, piece);
    here.difference = add_of_two(in_sweep(name_of(piece), sweep) + ".residual", ops::Subtract{},
                                 {cell(sweep, piece - 1).u, input_of(sweep, piece)}, piece);
    here.d = dst_of(here.difference);
  }

  void correct(int sweep, int piece) {
    TornCell& here = cell(sweep, piece);
    here.u = here.y;
    if (here.difference < 0) return;
    int correction = here.d;
    if (tearing_.coarse != CoarseKind::identity) {
      here.coarse = add_coarse(sweep, piece, here.d);
      correction = dst_of(here.coarse.back());
    }
    here.sum = add_of_two(in_sweep(name_of(piece), sweep) + ".sum", ops::Add{},
                          {here.y, correction}, piece);
    here.u = dst_of(here.sum);
  }

  std::vector<int> add_coarse(int sweep, int piece, int src) {
    const tensor::Shape& shape = shape_before(piece);
    plan::Network part = added_network(
        coarse_block(coarse_name(name_of(piece)), tearing_.coarse, shape, shape_before(piece + 1)),
        shape);
    std::vector<int>& homes = coarse_[static_cast<std::size_t>(piece)];
    for (plan::NetworkBlock& block : part.blocks) {
      if (!homes.empty()) block.name = in_sweep(block.name, sweep);
    }
    const std::vector<int> added = add_part(part, src, piece, homes);
    if (homes.empty()) homes = added;
    for (const int block : added) keep_state(block, state_set(sweep, piece, true));
    return added;
  }

  void unused_coarse() {
    if (tearing_.coarse == CoarseKind::identity) return;
    for (int piece = 1; piece < pieces(); ++piece) {
      if (!coarse_[static_cast<std::size_t>(piece)].empty()) continue;
      add_coarse(0, piece, dst_of(torn_.enter[static_cast<std::size_t>(piece)].back()));
    }
  }

  void head() {
    std::map<int, int> now{{chain_.crossing(tearing_.head), torn_.cells.back().back().u}};
    for (int b = tearing_.head; b < chain_.network().size(); ++b) {
      torn_.head.push_back(add_of_model(b, now, torn_.sweeps() - 1, pieces() - 1));
    }
  }

  const TornChain& chain_;
  const Tearing& tearing_;
  Sweeping sweeping_;
  TornNetwork torn_;
  std::map<int, int> homes_;              ///< block of the model -> its first block here
  std::vector<std::vector<int>> coarse_;  ///< by piece: F_j where it is first
};

}  // namespace

TornNetwork tear_network(const TornChain& chain, const Tearing& tearing, int sweeps,
                         Sweeping sweeping) {
  return Builder(chain, tearing, sweeps, sweeping).run();
}

}  // namespace plait::strategy
