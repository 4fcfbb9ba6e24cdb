// The torn network: the model's blocks, the ways from the image to the pieces (C_j), the coarse
// parts (F_j), differences and sums between them, swept `sweeps` times:
//
//   x_j = C_j(image) in the first sweep, u_{j-1} of the sweep before in the others
//   y_j = g_j(x_j)
//   u_1 = y_1,  u_j = y_j + F_j(u_{j-1} - x_j)
//
// and the head behind u_N of the last sweep. Blocks of later sweeps repeat those of the first one;
// running statistics they have of their own, since every sweep sees other values: the model's are
// those of the last sweep.
#pragma once

#include "strategy/parareal/tear.hpp"

namespace plait::strategy {

enum class Sweeping {
  /// Only what the result depends on: after s sweeps u_1 .. u_s do not change any more, so that
  /// sweep s begins with piece s, where u_s is y_s itself; and what u_N of the last sweep never
  /// sees is left out. Each sweep has pieces - sweeps + 1 pieces.
  needed,
  /// Every piece in every sweep, as the formula says: for measuring residuals.
  all
};

/// One piece in one sweep. Blocks and tensors of the torn network; -1 where there is none.
struct TornCell {
  std::vector<int> body{};  ///< g_j
  int x = -1;
  int y = -1;
  int difference = -1;  ///< d = u_{j-1} - x
  int d = -1;
  std::vector<int> coarse{};  ///< F_j; empty where it is the identity too
  int sum = -1;               ///< u = y + F_j(d)
  int u = -1;

  bool there() const { return !body.empty(); }
};

struct TornNetwork {
  plan::Network network;
  std::vector<std::vector<TornCell>> cells;  ///< by sweep and piece, both from 0
  std::vector<std::vector<int>> enter;       ///< C_j by piece; empty for the first
  std::vector<int> head;                     ///< blocks behind the last piece

  int sweeps() const { return static_cast<int>(cells.size()); }
  int pieces() const { return static_cast<int>(enter.size()); }
  const TornCell& cell(int sweep, int piece) const {
    return cells[static_cast<std::size_t>(sweep)][static_cast<std::size_t>(piece)];
  }
  /// Whether the sweep has the piece; false outside.
  bool has(int sweep, int piece) const {
    return sweep >= 0 && sweep < sweeps() && piece >= 0 && piece < pieces() &&
           cell(sweep, piece).there();
  }
};

/// All C_j and F_j are in the network, used or not, so that weights fit whatever the sweeps.
TornNetwork tear_network(const TornChain& chain, const Tearing& tearing, int sweeps,
                         Sweeping sweeping = Sweeping::needed);

}  // namespace plait::strategy
