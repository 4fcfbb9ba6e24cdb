// What strategies whose nodes have weights of their own can be told: how often these meet and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace plait {

struct ExchangeRequest {
  int every = 4;  ///< daso: B, steps from one exchange to the next, to begin with
  int wait = 1;   ///< daso: W, steps until it is merged
  int most = 8;   ///< daso: the largest B
  MergeKind merge = MergeKind::corrected;
  int local_steps = 8;  ///< local_sgd, diloco: H
  double outer_rate = 0.7;
  double outer_momentum = 0.9;
  bool half = false;                    ///< weights travel as bf16
  std::string inner = "data_parallel";  ///< the strategy inside a node
};

/// A way of exchanging, as a mode of the plan.
struct ExchangeMode {
  int every = 1;
  int wait = 0;  ///< 0: nobody goes on before it is merged
  MergeKind merge = MergeKind::average;
  std::string name() const;
  bool operator==(const ExchangeMode&) const = default;
};

/// Of daso: the one it begins to cycle with, all that it can come to, and, last, the blocking one
/// of warm-up and cool-down.
std::vector<ExchangeMode> daso_modes(const ExchangeRequest& request);

/// When daso uses which: a pure function of the losses so far, so that a resumed run goes on alike.
struct DasoPhases {
  std::int64_t epochs = 0;
  std::int64_t warmup = 1;    ///< epochs at the beginning that block
  std::int64_t cooldown = 1;  ///< at the end
  ExchangeRequest exchange{};
};
/// Index of daso_modes() for epoch `losses.size()`, `losses` being those of the epochs before it.
/// The loss has stopped improving after three cycling epochs without 5 %: B and W are halved (W at
/// least 1); where B is 1 already, back to the largest B and W = B / 4.
int daso_mode(const DasoPhases& phases, const std::vector<double>& losses);

}  // namespace plait
