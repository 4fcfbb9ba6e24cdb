// WorkerChains: the chains one worker computes with, one per number of samples that its tasks see
// (equal shares need one, uneven shares and the last, smaller minibatch of an epoch further ones).
// Parameters lie in the layout of the home chain, which is the same on all workers.
#pragma once

#include <map>

#include "plan/accesses.hpp"
#include "run/layout_bridge.hpp"

namespace plait::run {

struct WorkerChainsOptions {
  int worker = 0;
  int threads = 1;
  kernels::Backend backend = kernels::Backend::onednn;
  std::int64_t tail =
      0;  ///< samples of an epoch's last minibatch where it is smaller; 0: it is not
};

class WorkerChains {
 public:
  WorkerChains(const plan::Plan& plan, const WorkerChainsOptions& options);

  Chain& home() { return *chains_.at(home_); }
  const Chain& home() const { return *chains_.at(home_); }
  /// Of a number of samples that some task of the plan sees, above 0.
  Chain& at(std::int64_t samples) { return *chains_.at(samples); }
  const Chain& at(std::int64_t samples) const { return *chains_.at(samples); }
  /// Null where every block lies as in the store.
  LayoutBridge* bridge(std::int64_t samples);

  /// Of the blocks in all chains: what backward of any reads, what all can do in place.
  plan::Traits traits() const;
  /// Of the largest chain that sees `value`.
  std::size_t bytes_of(const plan::Value& value) const;
  /// Of the largest block among `blocks`.
  std::size_t scratch_bytes(const std::vector<int>& blocks) const;

 private:
  const std::vector<std::vector<std::int32_t>>& row_lists_;
  std::vector<std::int64_t> minibatches_;
  std::int64_t home_ = 0;
  std::map<std::int64_t, std::unique_ptr<Chain>> chains_;
  std::map<std::int64_t, std::unique_ptr<LayoutBridge>> bridges_;
};

}  // namespace plait::run
