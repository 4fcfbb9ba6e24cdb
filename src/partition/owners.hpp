// From vertices back to rows, and progress reports.
#pragma once

#include <functional>

#include "partition/chain.hpp"

namespace plait::partition {

/// Our random streams are Purpose::shuffle with this number or a little more.
inline constexpr std::uint64_t kPartitionStream = std::uint64_t{1} << 40;

Partition to_partition(const LayerChain& chain, bool own_input);

class StepCounter {
 public:
  StepCounter(const std::function<void(int, int)>& tell, int all) : tell_(tell), all_(all) {}
  void step() {
    ++done_;
    if (tell_) tell_(done_, all_);
  }

 private:
  const std::function<void(int, int)>& tell_;
  int done_ = 0;
  int all_;
};

}  // namespace plait::partition
