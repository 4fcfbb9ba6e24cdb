// The tasks of each worker, microbatch by microbatch and sweep by sweep, with messages and
// reductions over replicas.
#include "strategy/parareal/programs.hpp"

#include <algorithm>

#include "strategy/reductions.hpp"

namespace plait::strategy {

namespace {

/// One worker's tasks on the samples of one microbatch.
class PieceTasks {
 public:
  PieceTasks(const TornNetwork& torn, const TornPlacement& placement, int replica, int worker,
             std::vector<plan::Task>& tasks)
      : torn_(torn), placement_(placement), replica_(replica), tasks_(tasks) {
    for (int piece = 0; piece < torn.pieces(); ++piece) {
      if (placement.of[static_cast<std::size_t>(piece)] == worker) pieces_.push_back(piece);
    }
  }

  void forward(const plan::Samples& samples, bool first) {
    begin(samples, first);
    add(plan::Load{samples_});
    for (int sweep = 0; sweep < torn_.sweeps(); ++sweep) {
      for (const int piece : pieces_) bodies_forward(sweep, piece);
      for (const int piece : pieces_) chain_forward(sweep, piece);
    }
    if (pieces_.back() + 1 != torn_.pieces()) return;
    for (const int block : torn_.head) forward(block);
    add(plan::Loss{samples_});
  }

  void backward(const plan::Samples& samples, bool first) {
    begin(samples, first);
    if (pieces_.back() + 1 == torn_.pieces()) {
      for (auto block = torn_.head.rbegin(); block != torn_.head.rend(); ++block) {
        both(*block, !first_);
      }
    }
    for (int sweep = torn_.sweeps(); sweep-- > 0;) {
      for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
        chain_backward(sweep, *piece);
      }
      for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
        bodies_backward(sweep, *piece);
      }
    }
  }

 private:
  void begin(const plan::Samples& samples, bool first) {
    samples_ = samples;
    first_ = first;
  }
  const plan::NetworkBlock& block(int index) const {
    return torn_.network.blocks[static_cast<std::size_t>(index)];
  }
  bool here(int piece) const { return std::ranges::find(pieces_, piece) != pieces_.end(); }
  /// Backward begins with the last sweep of a piece.
  bool adds(int sweep, int piece) const { return !first_ || torn_.has(sweep + 1, piece); }
  bool coarse_adds(int sweep, int piece) const {
    return !first_ || (torn_.has(sweep + 1, piece) && torn_.cell(sweep + 1, piece).sum >= 0);
  }

  void add(const plan::What& what) { tasks_.push_back({.what = what}); }
  void forward(int of) {
    add(plan::Forward{.block = of, .samples = samples_, .moves_state = first_});
  }
  void data(int of, int tensor = -1) {
    add(plan::BackwardData{.block = of, .tensor = tensor, .samples = samples_});
  }
  void weights(int of, bool adds) {
    if (block(of).parameters == 0) return;
    add(plan::BackwardWeights{.block = of, .samples = samples_, .adds = adds});
  }
  void both(int of, bool adds) {
    if (!torn_.network.has_backward(of)) return;
    data(of);
    weights(of, adds);
  }
  plan::Message message(plan::Role role, int tensor, int other_piece) const {
    return {.value = {.role = role, .index = tensor, .samples = samples_},
            .peer = placement_.worker(replica_, other_piece),
            .half = placement_.half_wire};
  }

  void bodies_forward(int sweep, int piece) {
    if (!torn_.has(sweep, piece)) return;
    const TornCell& cell = torn_.cell(sweep, piece);
    if (sweep == 0 && piece > 0) {
      forward(torn_.enter[static_cast<std::size_t>(piece)]);
    }
    for (const int of : cell.body) forward(of);
  }

  /// Whether piece `piece` reads u_{j-1} of this sweep, in it or in the next one.
  bool reads_before(int sweep, int piece) const {
    if (piece == 0 || !torn_.has(sweep, piece - 1)) return false;
    return (torn_.has(sweep, piece) && torn_.cell(sweep, piece).sum >= 0) ||
           torn_.has(sweep + 1, piece);
  }

  void chain_forward(int sweep, int piece) {
    if (reads_before(sweep, piece) && !here(piece - 1)) {
      add(plan::Receive{message(plan::Role::tensor, torn_.cell(sweep, piece - 1).u, piece - 1)});
    }
    if (!torn_.has(sweep, piece)) return;
    const TornCell& cell = torn_.cell(sweep, piece);
    if (cell.sum >= 0) {
      forward(cell.difference);
      if (cell.coarse >= 0) forward(cell.coarse);
      forward(cell.sum);
    }
    if (piece + 1 < torn_.pieces() && reads_before(sweep, piece + 1) && !here(piece + 1)) {
      add(plan::Send{message(plan::Role::tensor, cell.u, piece + 1)});
    }
  }

  void send_back(int sweep, int piece) {
    if (piece > 0 && !here(piece - 1)) {
      add(plan::Send{message(plan::Role::diff, torn_.cell(sweep, piece - 1).u, piece - 1)});
    }
  }

  /// lambda_{j-1} is complete as soon as F_j has been gone through backwards, or, where the sweep
  /// has no F_j, when the next sweep's piece has.
  void chain_backward(int sweep, int piece) {
    if (!torn_.has(sweep, piece)) return;
    const TornCell& cell = torn_.cell(sweep, piece);
    if (piece + 1 < torn_.pieces() && reads_before(sweep, piece + 1) && !here(piece + 1)) {
      add(plan::Receive{message(plan::Role::diff, cell.u, piece + 1)});
    }
    if (cell.sum < 0) return;
    if (cell.coarse >= 0) data(cell.coarse);
    const int before = torn_.cell(sweep, piece - 1).u;
    if (torn_.network.diff_of(before) != torn_.network.diff_of(cell.d)) {
      data(cell.difference, before);
    }
    send_back(sweep, piece);
  }

  void bodies_backward(int sweep, int piece) {
    if (!torn_.has(sweep, piece)) return;
    const TornCell& cell = torn_.cell(sweep, piece);
    for (auto of = cell.body.rbegin(); of != cell.body.rend(); ++of) {
      both(*of, adds(sweep, piece));
    }
    if (cell.sum >= 0) {
      data(cell.difference, cell.x);
      if (cell.coarse >= 0) weights(cell.coarse, coarse_adds(sweep, piece));
    }
    if (sweep == 0) {
      if (piece > 0) both(torn_.enter[static_cast<std::size_t>(piece)], !first_);
      return;
    }
    const bool joined_before = torn_.has(sweep - 1, piece) && torn_.cell(sweep - 1, piece).sum >= 0;
    if (!joined_before) send_back(sweep - 1, piece);
  }

  const TornNetwork& torn_;
  const TornPlacement& placement_;
  int replica_;
  std::vector<plan::Task>& tasks_;
  std::vector<int> pieces_;
  plan::Samples samples_{};
  bool first_ = true;
};

/// The blocks whose gradients a program makes, in the order in which they become complete.
std::vector<int> trained_blocks(const plan::Network& network,
                                const std::vector<plan::Task>& tasks) {
  std::vector<int> trained;
  for (auto task = tasks.rbegin(); task != tasks.rend(); ++task) {
    if (!plan::is<plan::BackwardWeights>(*task)) continue;
    const int home = network.home_of(plan::block_of(*task));
    if (std::ranges::find(trained, home) == trained.end()) trained.push_back(home);
  }
  std::ranges::reverse(trained);
  return trained;
}

/// The program with the sums over the replicas between its tasks, each as soon as it can begin, and
/// the updates.
std::vector<plan::Task> with_reductions(const plan::Plan& plan,
                                        const OverlappedReductions::Range& range,
                                        const std::vector<plan::Task>& tasks) {
  std::vector<plan::Task> result;
  OverlappedReductions reductions(plan, range, true, result);
  std::vector<std::size_t> last(plan.network.blocks.size(), 0);
  std::size_t last_forward = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (plan::is<plan::Forward>(tasks[i])) last_forward = i;
    if (!plan::is<plan::BackwardWeights>(tasks[i])) continue;
    last[static_cast<std::size_t>(plan.network.home_of(plan::block_of(tasks[i])))] = i;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    result.push_back(tasks[i]);
    if (i == last_forward) reductions.state_ready();
    if (!plan::is<plan::BackwardWeights>(tasks[i])) continue;
    const int home = plan.network.home_of(plan::block_of(tasks[i]));
    if (last[static_cast<std::size_t>(home)] == i) reductions.block_ready(home);
  }
  reductions.drain();
  return result;
}

}  // namespace

void write_programs(const TornNetwork& torn, const TornPlacement& placement,
                    const PlanRequest& request, plan::Plan& plan) {
  const int parts = request.microbatches;
  for (int worker = 0; worker < placement.workers; ++worker) {
    OverlappedReductions::Range range{.group = worker,
                                      .first = static_cast<int>(plan.buckets.size())};
    std::vector<int>& group = plan.groups.emplace_back();
    for (int replica = 0; replica < placement.replicas; ++replica) {
      std::vector<plan::Task> tasks;
      PieceTasks pieces(torn, placement, replica, worker, tasks);
      const auto part = [&](int k) {
        return plan::part_of(replica * parts + k, placement.replicas * parts);
      };
      for (int k = 0; k < parts; ++k) pieces.forward(part(k), k == 0);
      for (int k = 0; k < parts; ++k) pieces.backward(part(k), k == 0);
      const std::vector<int> trained = trained_blocks(plan.network, tasks);
      const int self = replica * placement.workers + worker;
      group.push_back(self);
      std::vector<plan::Task>& program = plan.programs[static_cast<std::size_t>(self)].tasks;
      if (placement.replicas == 1) {
        program = std::move(tasks);
        if (request.clip) program.push_back({.what = plan::Clip{}});
        for (const int block : trained) program.push_back({.what = plan::Update{block}});
        continue;
      }
      if (replica == 0) {
        if (plan::Bucket state = state_bucket(plan.network, trained); !state.blocks.empty()) {
          plan.buckets.push_back(std::move(state));
        }
        for (plan::Bucket& bucket :
             gradient_buckets(plan.network, trained, request.bucket_bytes, request.wire_bytes)) {
          plan.buckets.push_back(std::move(bucket));
        }
        range.last = static_cast<int>(plan.buckets.size());
      }
      program = with_reductions(plan, range, tasks);
    }
  }
  if (placement.replicas == 1) plan.groups.clear();
}

}  // namespace plait::strategy
