// Where a chain is torn: the pieces g_1 .. g_N, and the head behind them that stays whole.
#pragma once

#include <optional>

#include "cost/cost_model.hpp"
#include "strategy/parareal/coarse.hpp"
#include "strategy/parareal/torn_chain.hpp"

namespace plait::strategy {

/// Piece j (from 1) of N has the blocks first[j - 1] .. first[j] - 1; piece 1 begins with block 0.
struct Tearing {
  std::vector<int> first{0};  ///< ascending
  int head = 0;               ///< the first block behind the last piece
  CoarseKind coarse = CoarseKind::block;
  /// Of saved weights: the sweeps of the training that made their running statistics. 1 where there
  /// is but one set of them.
  int sweeps = 1;

  int pieces() const { return static_cast<int>(first.size()); }
  int end(int piece) const {
    return piece < pieces() ? first[static_cast<std::size_t>(piece)] : head;
  }
};

/// "layer2.0.enter", "layer2.0.coarse": named after the block that the piece begins with.
std::string enter_name(const std::string& first_block);
std::string coarse_name(const std::string& first_block);

struct TearOptions {
  int pieces = 2;
  CoarseKind coarse = CoarseKind::block;
  std::int64_t samples = 1;  ///< that a worker sees at a time
  /// The head and the coarse parts are computed while other samples are in the pieces, and so
  /// count like them; else everybody waits for them anyway.
  bool overlapped = false;
  std::string wanted{};  ///< what asks for the pieces, for messages; empty: --pieces N
};

/// Why there is no tearing into so many pieces, where tensors cross, without advice; nothing where
/// there is one.
std::optional<std::string> why_not_torn(const TornChain& chain, const cost::CostModel& cost,
                                        const TearOptions& options);

/// The most pieces that are possible; 1: it cannot be torn.
int most_pieces(const TornChain& chain, CoarseKind kind);

/// The tearing whose slowest piece is the fastest. UserError where there are not enough places, or
/// the coarse kind fits nowhere.
Tearing tear(const TornChain& chain, const cost::CostModel& cost, const TearOptions& options);

/// The tearing of a network whose parameters have these names; nothing where it is not torn.
/// UserError where the names do not fit the network.
std::optional<Tearing> tearing_of(const TornChain& chain, const std::vector<std::string>& names);

}  // namespace plait::strategy
