// The texts, from the plan's outer optimizer, the settings and the folder of checkpoints.
#include "session/divergence.hpp"

#include <cmath>

#include "base/error.hpp"
#include "checkpoint/store.hpp"

namespace plait::session {

namespace {

/// An outer optimizer multiplies the learning rate, so its settings come first. Plain averaging is
/// rate 1 without momentum.
std::string outer_advice(const plan::Plan& plan, std::int64_t local_steps) {
  for (const plan::Bucket& bucket : plan.buckets) {
    if (bucket.payload != plan::Payload::weights || bucket.merge.kind != plan::MergeKind::outer)
      continue;
    const plan::Merge& merge = bucket.merge;
    if (merge.momentum == 0 && merge.rate <= 1) break;
    return fmt::format(
        "`outer_lr` {} with `outer_momentum` {} may be too much for `local_steps` {}: try {}, "
        "or else ",
        merge.rate, merge.momentum, local_steps,
        merge.rate <= 1 && merge.momentum > 0.3 ? "`outer_momentum` 0.3"
                                                : "`outer_lr` 1 `outer_momentum` 0");
  }
  return "";
}

std::string last_good(const std::string& checkpoints) {
  if (!checkpoints.empty()) {
    const checkpoint::CheckpointStore store{std::filesystem::path(checkpoints)};
    if (const auto latest = store.latest()) {
      return "the last good checkpoint is " + store.path_of(latest->folder).string();
    }
  }
  return "no checkpoint was written yet";
}

}  // namespace

std::string Divergence::hint() const {
  return last_good(checkpoints) + "; " + outer_advice(plan, config.local_steps) +
         (can_clip ? "try a smaller `lr` or `clip_norm` 1" : "try a smaller `lr`");
}

void Divergence::stop(const run::NonFiniteLoss& loss, int worker) const {
  user_error(
      "loss is {} at step {}{}; block '{}' is the first whose result is "
      "not finite; {}",
      std::isnan(loss.loss) ? std::fabs(loss.loss) : loss.loss, loss.minibatch + 1,
      plan.workers() > 1 ? fmt::format(" on worker {}", worker) : "",
      loss.block.empty() ? "loss" : loss.block, hint());
}

}  // namespace plait::session
