// Normalise: (x - mean) / deviation per channel. The numbers are measured once on the training
// split and used for both splits.
#pragma once

#include <vector>

#include "data/dataset.hpp"

namespace plait::data {

/// One entry per channel; the channels are equal consecutive parts of a sample.
struct ChannelStatistics {
  std::vector<float> mean;
  /// 1 for a channel that never varies.
  std::vector<float> deviation;
};

/// Goes through all samples in order, so that the result has the same bits every time. `channels`
/// must divide the elements of a sample; 0 stands for the first extent of the sample shape.
ChannelStatistics measure_channels(const Dataset& dataset, std::int64_t channels = 0);

class Normalise final : public Decorator {
 public:
  Normalise(DatasetPtr inner, const ChannelStatistics& statistics);
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override;

 private:
  std::vector<float> scale_;
  std::vector<float> shift_;
};

}  // namespace plait::data
