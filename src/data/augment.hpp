// Augmenting decorators for images {C, H, W}. What happens to a sample depends on (seed, epoch,
// index) only: put them inside Shard, so that the index stays the same on every worker.
#pragma once

#include "data/dataset.hpp"

namespace plait::data {

/// Pads all four borders with `pad` zeros and cuts a random window of the original size. Zero is
/// the mean after Normalise.
class PadCrop final : public Decorator {
 public:
  /// UserError unless the samples are images with one target each and 0 < pad < their smaller side.
  PadCrop(DatasetPtr inner, std::int64_t pad, std::uint64_t seed);
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override;

 private:
  std::int64_t pad_;
  std::uint64_t seed_;
};

/// Mirrors left and right in half of the cases, labels of pixels too.
class Flip final : public Decorator {
 public:
  Flip(DatasetPtr inner, std::uint64_t seed);
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override;

 private:
  std::uint64_t seed_;
};

/// One plane (H x W, row-major) moved in place: dst(y, x) = src(y + dy, x + dx), zeros from
/// outside.
struct Plane {
  float* data;
  std::int64_t height;
  std::int64_t width;
};
void shift_plane(Plane plane, std::int64_t dy, std::int64_t dx);

}  // namespace plait::data
