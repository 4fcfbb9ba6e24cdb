// Lists the tasks of all pieces, microbatch by microbatch and sweep by sweep.
#include "strategy/parareal/piece_tasks.hpp"

namespace plait::strategy {

namespace {

/// The tasks of one replica.
class PieceTasks {
 public:
  PieceTasks(const TornNetwork& torn, const TornPlacement& placement, int replica,
             lower::Schedule& schedule)
      : torn_(torn), placement_(placement), replica_(replica), items_(schedule.items) {}

  void forward(const plan::Samples& samples, bool first) {
    samples_ = samples;
    for (int worker = 0; worker < placement_.workers; ++worker) {
      items_.push_back({.task = {.what = plan::Load{samples}},
                        .worker = replica_ * placement_.workers + worker});
    }
    first_ = first;
    for (int sweep = 0; sweep < torn_.sweeps(); ++sweep) {
      for (int piece = 0; piece < torn_.pieces(); ++piece) bodies_forward(sweep, piece);
      for (int piece = 0; piece < torn_.pieces(); ++piece) chain_forward(sweep, piece);
    }
    forward(torn_.head, torn_.pieces() - 1);
    add(plan::Loss{samples_}, torn_.pieces() - 1);
  }

  void backward(const plan::Samples& samples) {
    samples_ = samples;
    both(torn_.head, torn_.pieces() - 1);
    for (int sweep = torn_.sweeps(); sweep-- > 0;) {
      for (int piece = torn_.pieces(); piece-- > 0;) chain_backward(sweep, piece);
      for (int piece = torn_.pieces(); piece-- > 0;) bodies_backward(sweep, piece);
    }
  }

 private:
  const plan::NetworkBlock& block(int index) const {
    return torn_.network.blocks[static_cast<std::size_t>(index)];
  }
  const std::vector<int>& enter(int piece) const {
    return torn_.enter[static_cast<std::size_t>(piece)];
  }

  void add(const plan::What& what, int piece) {
    items_.push_back({.task = {.what = what}, .worker = placement_.worker(replica_, piece)});
  }
  void forward(int of, int piece) {
    add(plan::Forward{.block = of, .samples = samples_, .moves_state = first_}, piece);
  }
  void forward(const std::vector<int>& blocks, int piece) {
    for (const int of : blocks) forward(of, piece);
  }
  void data(int of, int piece, int tensor = -1) {
    add(plan::BackwardData{.block = of, .tensor = tensor, .samples = samples_}, piece);
  }
  void weights(int of, int piece) {
    if (block(of).parameters == 0) return;
    add(plan::BackwardWeights{.block = of, .samples = samples_}, piece);
  }
  void both(const std::vector<int>& blocks, int piece) {
    for (auto of = blocks.rbegin(); of != blocks.rend(); ++of) {
      if (!torn_.network.has_backward(*of)) continue;
      data(*of, piece);
      weights(*of, piece);
    }
  }

  void bodies_forward(int sweep, int piece) {
    if (!torn_.has(sweep, piece)) return;
    if (sweep == 0) forward(enter(piece), piece);
    forward(torn_.cell(sweep, piece).body, piece);
  }

  void chain_forward(int sweep, int piece) {
    if (!torn_.has(sweep, piece)) return;
    const TornCell& cell = torn_.cell(sweep, piece);
    if (cell.sum < 0) return;
    forward(cell.difference, piece);
    forward(cell.coarse, piece);
    forward(cell.sum, piece);
  }

  /// lambda_{j-1} is complete as soon as F_j has been gone through backwards, or, where the sweep
  /// has no F_j, when the next sweep's piece has.
  void chain_backward(int sweep, int piece) {
    if (!torn_.has(sweep, piece)) return;
    const TornCell& cell = torn_.cell(sweep, piece);
    if (cell.sum < 0) return;
    data(cell.sum, piece);
    for (auto of = cell.coarse.rbegin(); of != cell.coarse.rend(); ++of) data(*of, piece);
    data(cell.difference, piece, torn_.cell(sweep, piece - 1).u);
  }

  void bodies_backward(int sweep, int piece) {
    if (!torn_.has(sweep, piece)) return;
    const std::size_t begin = items_.size();
    const TornCell& cell = torn_.cell(sweep, piece);
    both(cell.body, piece);
    if (cell.sum >= 0) {
      data(cell.difference, piece, cell.x);
      for (auto of = cell.coarse.rbegin(); of != cell.coarse.rend(); ++of) weights(*of, piece);
    }
    if (sweep == 0) both(enter(piece), piece);
    // Its gradient leaves the piece behind all of it.
    for (std::size_t i = begin; i + 1 < items_.size(); ++i) {
      items_[i].sent_behind = static_cast<int>(items_.size()) - 1;
    }
  }

  const TornNetwork& torn_;
  const TornPlacement& placement_;
  int replica_;
  std::vector<lower::Item>& items_;
  plan::Samples samples_{};
  bool first_ = true;
};

}  // namespace

void list_pieces(const TornNetwork& torn, const TornPlacement& placement,
                 lower::Schedule& schedule) {
  const int parts = schedule.plan.microbatches;
  for (int replica = 0; replica < placement.replicas; ++replica) {
    PieceTasks pieces(torn, placement, replica, schedule);
    const auto part = [&](int k) {
      return plan::part_of(replica * parts + k, placement.replicas * parts);
    };
    for (int k = 0; k < parts; ++k) pieces.forward(part(k), k == 0);
    for (int k = 0; k < parts; ++k) pieces.backward(part(k));
  }
}

}  // namespace plait::strategy
