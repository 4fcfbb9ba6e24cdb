// What strategies whose nodes have weights of their own can be told: how often these meet and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "strategy/replicas/options.hpp"

namespace plait::strategy {

constexpr double kChosenRate = 0;       ///< ExchangeRequest::outer_rate: by outer_settings()
constexpr double kChosenMomentum = -1;  ///< ExchangeRequest::outer_momentum: the same

struct ExchangeRequest {
  int every = 4;              ///< daso: B, steps from one exchange to the next, to begin with
  int wait = 1;               ///< daso: W, steps until it is merged
  int most = 8;               ///< daso: the largest B
  int patience = 3;           ///< daso: epochs without improvement until B and W change
  std::int64_t warmup = 1;    ///< daso: epochs at the beginning that block
  std::int64_t cooldown = 1;  ///< daso: at the end
  plan::MergeKind merge = plan::MergeKind::corrected;
  int local_steps = 8;              ///< local_sgd, diloco: H
  double outer_rate = kChosenRate;  ///< diloco
  double outer_momentum = kChosenMomentum;
  std::int64_t total_steps = 0;         ///< of the run, for what is chosen; 0: not known
  bool half = false;                    ///< weights travel as bf16
  std::string inner = "data_parallel";  ///< the strategy inside a node
};

/// Of settings that pass their table.
ExchangeRequest exchange_request(const ReplicaOptions& options);

/// DiLoCo's outer optimizer: Nesterov's SGD along the averaged change of the weights.
struct OuterSettings {
  double rate = 0.7;
  double momentum = 0.3;
};

/// Those of the request, and what it leaves open chosen by the local steps and the length of the
/// run. rate / (1 - momentum) multiplies the learning rate inside: 1 up to 32 local steps, where
/// more than that diverges like a learning rate that is too large; (local steps / 32)^0.7 above, up
/// to 7 (0.7 and 0.9 of the publication, which has 500 local steps). Few exchanges have no time to
/// build up momentum.
OuterSettings outer_settings(const ExchangeRequest& request);

/// A way of exchanging, as a mode of the plan.
struct ExchangeMode {
  int every = 1;
  int wait = 0;  ///< 0: nobody goes on before it is merged
  plan::MergeKind merge = plan::MergeKind::average;
  std::string name() const;
  bool operator==(const ExchangeMode&) const = default;
};

/// Of daso: the one it begins to cycle with, all that it can come to, and, last, the blocking one
/// of warm-up and cool-down.
std::vector<ExchangeMode> daso_modes(const ExchangeRequest& request);

/// What a run has come to: its epochs, and the mean training losses of those that have ended.
struct LossHistory {
  std::int64_t epochs = 0;
  const std::vector<double>& losses;
};

/// Index of daso_modes() for the next epoch: a pure function of the losses so far, so that a
/// resumed run goes on alike. The loss has stopped improving after `patience` cycling epochs
/// without 5 %: B and W are halved (W at least 1); where B is 1 already, back to the largest B and
/// W = B / 4.
int daso_mode(const ExchangeRequest& request, const LossHistory& so_far);

}  // namespace plait::strategy
