// Interpolation between the batch sizes of a profile, contention of busy workers, and blocks that a
// strategy adds.
#include "cost/measured.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cost/analytic.hpp"
#include "cost/text_file.hpp"

namespace plait::cost {

namespace {

/// Where the profile did not measure it: one core adding arrays out of its memory.
constexpr double kUsualSumBytesPerSecond = 10e9;

void check_same_network(const ProfileFile& profile, const plan::Network& network) {
  const std::vector<ProfileBlock>& blocks = profile.points.front().blocks;
  const auto other = [&](const std::string& why) {
    user_error(
        "{}: a profile of another network ({}, but the plan is for {}): {}; measure it with "
        "plait profile `model` {}",
        profile.source, in_quotes(profile.model), in_quotes(network.name), why, network.name);
  };
  const std::size_t shared = std::min(blocks.size(), network.blocks.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const plan::NetworkBlock& block = network.blocks[i];
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
  if (const std::string hash = plan::network_hash(network); hash != profile.network_hash) {
    other(fmt::format(
        "equal block names but other sizes or layers, network_hash {} in the profile "
        "(data shape {}, {} classes) and {} in the network",
        in_quotes(profile.network_hash), in_quotes(profile.data_shape), profile.classes, hash));
  }
}

double total(const BlockSeconds& seconds) {
  return seconds.forward + seconds.backward_data + seconds.backward_weights;
}

/// The block itself, or one of the same kind and size that stands elsewhere in the network.
std::vector<ProfileBlock>::const_iterator find_added(const ProfilePoint& point,
                                                     const plan::Network& network, int index) {
  const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(index)];
  // "coarse.conv1" of block "conv1" of module "layer2.0.coarse".
  const std::string& module = block.spec.name.empty() ? block.name : block.spec.name;
  const std::string kind = "." + block.name.substr(module.rfind('.') + 1);
  const std::int64_t dst_bytes = network.tensors[static_cast<std::size_t>(block.dst)] *
                                 point.batch * std::int64_t{sizeof(float)};
  const auto same_size = [&](const ProfileBlock& one) {
    return one.dst_bytes == dst_bytes && one.parameters == block.parameters &&
           one.macs == block.macs * point.batch;
  };
  const auto found = std::ranges::find_if(point.added, [&](const ProfileBlock& one) {
    return one.name == block.name && same_size(one);
  });
  if (found != point.added.end()) return found;
  return std::ranges::find_if(point.added, [&](const ProfileBlock& one) {
    return one.name.ends_with(kind) && same_size(one);
  });
}

class MeasuredCost final : public CostModel {
 public:
  MeasuredCost(const ProfileFile& profile, const plan::Network& network, const std::string& name)
      : profile_(profile), name_(name) {
    const std::int64_t batch = profile.points.front().batch;
    std::ranges::sort(profile_.points, {}, &ProfilePoint::batch);
    main_ = static_cast<std::size_t>(
        std::ranges::find(profile_.points, batch, &ProfilePoint::batch) - profile_.points.begin());
    double measured = 0;
    double counted = 0;
    for (int i = 0; i < network.size(); ++i) {
      measured += total(block(i, batch));
      counted += total(analytic_seconds(network, i, batch));
    }
    if (counted > 0) per_counted_second_ = measured / counted;
  }

  BlockSeconds block(int block, std::int64_t samples) const override {
    return seconds_of(&ProfilePoint::blocks, static_cast<std::size_t>(block), samples);
  }
  BlockSeconds added(const plan::Network& network, int block, std::int64_t samples) const override {
    const std::vector<ProfileBlock>& known = profile_.points.front().added;
    const auto found = find_added(profile_.points.front(), network, network.home_of(block));
    if (found != known.end()) {
      return seconds_of(&ProfilePoint::added, static_cast<std::size_t>(found - known.begin()),
                        samples);
    }
    const plan::NetworkBlock& unknown = network.blocks[static_cast<std::size_t>(block)];
    if (unknown.is_join()) {  // backward_data adds one gradient to another
      const double seconds = sum(network.tensors[static_cast<std::size_t>(unknown.dst)] * samples *
                                     std::int64_t{sizeof(float)},
                                 2);
      return {.forward = seconds, .backward_data = seconds};
    }
    BlockSeconds seconds = analytic_seconds(network, block, samples);
    for (double* part : {&seconds.forward, &seconds.backward_data, &seconds.backward_weights}) {
      *part *= per_counted_second_;
    }
    return seconds;
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
  std::string source() const override {
    return name_.empty() ? "profile " + profile_.source : name_;
  }

 private:
  BlockSeconds seconds_of(std::vector<ProfileBlock> ProfilePoint::*list, std::size_t index,
                          std::int64_t samples) const {
    const auto seconds = [&](double ProfileBlock::*task) {
      return at(samples, [&](const ProfilePoint& point) { return (point.*list)[index].*task; });
    };
    return {.forward = seconds(&ProfileBlock::forward_ms),
            .backward_data = seconds(&ProfileBlock::backward_data_ms),
            .backward_weights = seconds(&ProfileBlock::backward_weights_ms),
            .update = 1e-3 * (profile_.points[main_].*list)[index].update_ms};
  }

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
  std::string name_;
  std::size_t main_ = 0;  ///< the point that was the first
  /// How much slower this machine is than the counted one: for blocks that were not measured.
  double per_counted_second_ = 1;
};

}  // namespace

std::unique_ptr<CostModel> make_measured_cost(const ProfileFile& profile,
                                              const plan::Network& network,
                                              const std::string& name) {
  check_same_network(profile, network);
  return std::make_unique<MeasuredCost>(profile, network, name);
}

bool knows_added(const ProfileFile& profile, const plan::Network& network, int block) {
  const int home = network.home_of(block);
  if (network.blocks[static_cast<std::size_t>(home)].is_join()) return true;
  const ProfilePoint& point = profile.points.front();
  return find_added(point, network, home) != point.added.end();
}

}  // namespace plait::cost
