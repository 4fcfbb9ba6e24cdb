// The settings as a request; modes of DASO (how often, how long under way) and their choice from
// the losses; settings of the outer optimizer.
#include "strategy/replicas/exchange_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plait::strategy {

namespace {

constexpr double kImprovement = 0.95;

ExchangeMode next_mode(const ExchangeRequest& request, const ExchangeMode& mode) {
  ExchangeMode next = mode;
  if (mode.every == 1) {
    next.every = request.most;
    next.wait = std::max(1, request.most / 4);
  } else {
    next.every = mode.every / 2;
    next.wait = std::max(1, mode.wait / 2);
  }
  return next;
}

}  // namespace

std::string ExchangeMode::name() const {
  if (wait == 0) {
    return every == 1 ? std::string("blocking, every step")
                      : fmt::format("blocking, every {} steps", every);
  }
  return fmt::format("every {} step(s), merged {} later", every, wait);
}

ExchangeRequest exchange_request(const ReplicaOptions& options) {
  return {
      .every = static_cast<int>(options.exchange_every),
      .wait = static_cast<int>(options.exchange_wait),
      .most = static_cast<int>(options.exchange_most),
      .patience = static_cast<int>(options.exchange_patience),
      .warmup = options.warmup_epochs,
      .cooldown = options.cooldown_epochs,
      .merge = options.merge == "paper" ? plan::MergeKind::weighted : plan::MergeKind::corrected,
      .local_steps = static_cast<int>(options.local_steps),
      .outer_rate = options.outer_lr,
      .outer_momentum = options.outer_momentum,
      .half = options.exchange_wire == "bf16",
      .inner = options.inner};
}

OuterSettings outer_settings(const ExchangeRequest& request) {
  constexpr double kRate = 0.7;
  constexpr double kMostGain = 7;
  constexpr double kSafeSteps = 32;
  constexpr double kPower = 0.7;
  const auto rounded = [](double x) { return std::round(100 * x) / 100; };
  const bool open_rate = request.outer_rate == kChosenRate;
  OuterSettings chosen{.rate = open_rate ? kRate : request.outer_rate,
                       .momentum = request.outer_momentum};
  if (request.outer_momentum == kChosenMomentum) {
    const double gain =
        std::clamp(std::pow(request.local_steps / kSafeSteps, kPower), 1.0, kMostGain);
    double most = 1 - chosen.rate / gain;
    if (request.total_steps > 0) {
      const double exchanges =
          std::ceil(static_cast<double>(request.total_steps) / request.local_steps);
      most = std::min(most, 1 - 2 / exchanges);
    }
    chosen.momentum = rounded(std::max(0.0, most));
  }
  if (open_rate) chosen.rate = rounded(std::max(kRate, 1 - chosen.momentum));
  return chosen;
}

std::vector<ExchangeMode> daso_modes(const ExchangeRequest& request) {
  std::vector<ExchangeMode> modes;
  ExchangeMode mode{.every = request.every, .wait = request.wait, .merge = request.merge};
  while (std::ranges::find(modes, mode) == modes.end()) {
    modes.push_back(mode);
    mode = next_mode(request, mode);
  }
  modes.push_back({.every = 1, .wait = 0, .merge = plan::MergeKind::average});
  return modes;
}

int daso_mode(const ExchangeRequest& request, const LossHistory& so_far) {
  const std::vector<ExchangeMode> modes = daso_modes(request);
  const auto blocking = static_cast<int>(modes.size()) - 1;
  const auto blocks = [&](std::int64_t epoch) {
    return epoch < request.warmup || epoch >= so_far.epochs - request.cooldown;
  };
  const auto epoch = static_cast<std::int64_t>(so_far.losses.size());
  if (blocks(epoch)) return blocking;
  ExchangeMode mode = modes.front();
  double best = 0;
  int stale = 0;
  bool any = false;
  for (std::int64_t e = request.warmup; e < epoch; ++e) {
    const double loss = so_far.losses[static_cast<std::size_t>(e)];
    if (!any || loss < kImprovement * best) {
      best = loss;
      any = true;
      stale = 0;
      continue;
    }
    if (++stale < request.patience) continue;
    mode = next_mode(request, mode);
    stale = 0;
  }
  return static_cast<int>(std::ranges::find(modes, mode) - modes.begin());
}

}  // namespace plait::strategy
