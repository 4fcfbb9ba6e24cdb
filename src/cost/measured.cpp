#include "cost/measured.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cost/text_file.hpp"

namespace plait {

namespace {

/// Where the profile did not measure it: one core adding arrays out of its memory.
constexpr double kUsualSumBytesPerSecond = 10e9;

void check_same_network(const ProfileFile& profile, const Network& network) {
  const std::vector<ProfileBlock>& blocks = profile.points.front().blocks;
  const auto other = [&](const std::string& why) {
    user_error(
        "{}: a profile of another network ({}, but the plan is for {}): {}; measure it with "
        "plait profile --model {}",
        profile.source, in_quotes(profile.model), in_quotes(network.name), why, network.name);
  };
  const std::size_t shared = std::min(blocks.size(), network.blocks.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const NetworkBlock& block = network.blocks[i];
    if (blocks[i].name != block.name) {
      other(fmt::format("block {} is {} in the profile and {} in the network", i,
                        in_quotes(blocks[i].name), in_quotes(block.name)));
    }
  }
  if (blocks.size() != network.blocks.size()) {
    other(fmt::format("the profile has {} blocks, the network {}", blocks.size(),
                      network.blocks.size()));
  }
  if (profile.network_hash.empty()) return;
  if (const std::string hash = network_hash(network); hash != profile.network_hash) {
    other(fmt::format(
        "equal block names but other sizes or layers, network_hash {} in the profile "
        "(data shape {}, {} classes) and {} in the network",
        in_quotes(profile.network_hash), in_quotes(profile.data_shape), profile.classes, hash));
  }
}

class MeasuredCost final : public CostModel {
 public:
  explicit MeasuredCost(const ProfileFile& profile) : profile_(profile) {
    for (const ProfileBlock& block : profile.points.front().blocks) {
      update_.push_back(1e-3 * block.update_ms);
    }
    std::ranges::sort(profile_.points, {}, &ProfilePoint::batch);
  }

  BlockSeconds block(int block, std::int64_t samples) const override {
    const auto b = static_cast<std::size_t>(block);
    const auto seconds = [&](double ProfileBlock::*task) {
      return at(samples, [&](const ProfilePoint& point) { return point.blocks[b].*task; });
    };
    return {.forward = seconds(&ProfileBlock::forward_ms),
            .backward_data = seconds(&ProfileBlock::backward_data_ms),
            .backward_weights = seconds(&ProfileBlock::backward_weights_ms),
            .update = update_[b]};
  }
  double loss(std::int64_t samples) const override {
    return at(samples, [](const ProfilePoint& point) { return point.loss_ms; });
  }
  double load(std::int64_t samples) const override {
    return at(samples, [](const ProfilePoint& point) { return point.load_ms; });
  }
  double sum(std::int64_t bytes, int arrays) const override {
    const double rate =
        profile_.sum_bytes_per_second > 0 ? profile_.sum_bytes_per_second : kUsualSumBytesPerSecond;
    return static_cast<double>(bytes) * arrays / rate;
  }
  double contention(int busy) const override {
    const auto [workers, factor] = profile_.contention;
    if (busy <= 1 || workers <= 1 || factor <= 1) return 1;  // below 1 is noise
    const double share = (busy - 1.0) / (workers - 1.0);
    return 1 + (factor - 1) * std::min(share, 1.0);
  }
  std::string source() const override { return "profile " + profile_.source; }

 private:
  /// Seconds from the milliseconds that `pick` finds in each point.
  template <class Pick>
  double at(std::int64_t samples, const Pick& pick) const {
    if (samples <= 0) return 0;
    const std::vector<ProfilePoint>& points = profile_.points;
    const auto n = static_cast<double>(samples);
    const auto batch = [&](std::size_t i) { return static_cast<double>(points[i].batch); };
    const auto share = [&](std::size_t i) { return pick(points[i]) * n / batch(i); };
    const auto line = [&](std::size_t i) {
      const double slope = (pick(points[i + 1]) - pick(points[i])) / (batch(i + 1) - batch(i));
      return pick(points[i]) + slope * (n - batch(i));
    };
    if (points.size() == 1 || samples >= points.back().batch) {
      return 1e-3 * share(points.size() - 1);
    }
    if (samples < points.front().batch) {
      return 1e-3 * std::clamp(line(0), share(0), pick(points.front()));
    }
    std::size_t below = 0;
    while (points[below + 1].batch <= samples) ++below;
    return 1e-3 * line(below);
  }

  ProfileFile profile_;  ///< points by ascending batch
  std::vector<double> update_;
};

}  // namespace

std::unique_ptr<CostModel> make_measured_cost(const ProfileFile& profile, const Network& network) {
  check_same_network(profile, network);
  return std::make_unique<MeasuredCost>(profile);
}

}  // namespace plait
