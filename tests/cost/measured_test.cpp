// The measured model: values at, between, below and above the measured batch sizes, contention, and
// profiles of other networks.
#include "cost/measured.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/cost_testing.hpp"

namespace plait::cost {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// forward of block "a" as given, "b" ten times that; everything else 1.
ProfilePoint point(std::int64_t batch, double forward_ms) {
  return {.batch = batch,
          .blocks = {{.name = "a", .forward_ms = forward_ms, .update_ms = 0.5 * forward_ms},
                     {.name = "b", .forward_ms = 10 * forward_ms, .backward_data_ms = 7}},
          .loss_ms = 2 * forward_ms,
          .load_ms = 3 * forward_ms};
}

ProfileFile profile_of(std::vector<ProfilePoint> points) {
  return {.model = "two", .points = std::move(points), .source = "p.json"};
}

double forward_ms(const ProfileFile& profile, std::int64_t samples) {
  return 1e3 * make_measured_cost(profile, two_blocks())->block(0, samples).forward;
}

TEST(MeasuredCost, OnePointIsProportional) {
  const ProfileFile profile = profile_of({point(64, 8)});
  EXPECT_DOUBLE_EQ(forward_ms(profile, 64), 8);
  EXPECT_DOUBLE_EQ(forward_ms(profile, 32), 4);
  EXPECT_DOUBLE_EQ(forward_ms(profile, 128), 16);
  EXPECT_EQ(forward_ms(profile, 0), 0);
}

TEST(MeasuredCost, IsALineBetweenNeighbours) {
  const ProfileFile profile = profile_of({point(64, 8), point(16, 4), point(32, 5)});
  EXPECT_DOUBLE_EQ(forward_ms(profile, 16), 4);
  EXPECT_DOUBLE_EQ(forward_ms(profile, 20), 4.25);
  EXPECT_DOUBLE_EQ(forward_ms(profile, 32), 5);
  EXPECT_DOUBLE_EQ(forward_ms(profile, 48), 6.5);
  EXPECT_DOUBLE_EQ(forward_ms(profile, 64), 8);
  EXPECT_DOUBLE_EQ(forward_ms(profile, 96), 12);  // above: proportional
  // Below: 4 ms at 16 and 5 at 32 are 3 ms whatever the samples, and 1/16 ms for each.
  EXPECT_DOUBLE_EQ(forward_ms(profile, 8), 3.5);
}

TEST(MeasuredCost, BelowTheSmallestItIsNeverLessThanTheShare) {
  // The line through (10, 1) and (20, 3) is 0 at 5 samples.
  const ProfileFile steep = profile_of({point(10, 1), point(20, 3)});
  EXPECT_DOUBLE_EQ(forward_ms(steep, 5), 0.5);
  EXPECT_DOUBLE_EQ(forward_ms(steep, 1), 0.1);
  // Noise: twice the samples in less time. Fewer samples do not take longer.
  const ProfileFile falling = profile_of({point(10, 2), point(20, 1)});
  EXPECT_DOUBLE_EQ(forward_ms(falling, 1), 2);
}

TEST(MeasuredCost, EveryTaskHasItsOwnLine) {
  const auto cost = make_measured_cost(profile_of({point(64, 8), point(16, 4)}), two_blocks());
  EXPECT_DOUBLE_EQ(cost->block(1, 40).forward, 60e-3);
  EXPECT_DOUBLE_EQ(cost->block(1, 40).backward_data, 7e-3);
  EXPECT_DOUBLE_EQ(cost->block(1, 128).backward_data, 14e-3);
  EXPECT_EQ(cost->block(1, 40).backward_weights, 0);
  EXPECT_DOUBLE_EQ(cost->loss(40), 12e-3);
  EXPECT_DOUBLE_EQ(cost->load(40), 18e-3);
  // The update knows no samples: the one of the main batch.
  EXPECT_DOUBLE_EQ(cost->block(0, 1).update, 4e-3);
  EXPECT_DOUBLE_EQ(cost->block(0, 1000).update, 4e-3);
}

TEST(MeasuredCost, ContentionGrowsToWhatWasMeasured) {
  ProfileFile profile = profile_of({point(64, 8)});
  const auto factor = [&](int busy) {
    return make_measured_cost(profile, two_blocks())->contention(busy);
  };
  EXPECT_DOUBLE_EQ(factor(4), 1);
  profile.contention = {.workers = 5, .factor = 1.4};
  EXPECT_DOUBLE_EQ(factor(1), 1);
  EXPECT_DOUBLE_EQ(factor(2), 1.1);
  EXPECT_DOUBLE_EQ(factor(3), 1.2);
  EXPECT_DOUBLE_EQ(factor(5), 1.4);
  EXPECT_DOUBLE_EQ(factor(50), 1.4);
  profile.contention = {.workers = 2, .factor = 0.97};
  EXPECT_DOUBLE_EQ(factor(2), 1);
}

TEST(MeasuredCost, SumsAtTheMeasuredRate) {
  ProfileFile profile = profile_of({point(64, 8)});
  profile.sum_bytes_per_second = 100;
  const auto cost = make_measured_cost(profile, two_blocks());
  EXPECT_DOUBLE_EQ(cost->sum(50, 4), 2);
  EXPECT_EQ(cost->source(), "profile p.json");
}

TEST(MeasuredCost, RefusesAProfileOfAnotherNetwork) {
  const plan::Network network = two_blocks();
  ProfileFile profile = profile_of({point(64, 8)});
  const auto message = [&] { return refusal([&] { make_measured_cost(profile, network); }); };
  EXPECT_EQ(message(), "no UserError");
  profile.network_hash = plan::network_hash(network);
  EXPECT_EQ(message(), "no UserError");

  profile.network_hash = "ffff";
  EXPECT_THAT(message(),
              AllOf(HasSubstr("p.json: a profile of another network"),
                    HasSubstr("network_hash 'ffff'"), HasSubstr(plan::network_hash(network))));
  profile.points[0].blocks[1].name = "c";
  EXPECT_THAT(message(), HasSubstr("block 1 is 'c' in the profile and 'b' in the network"));
  profile.points[0].blocks.pop_back();
  EXPECT_THAT(message(), HasSubstr("the profile has 1 blocks, the network 2"));
}

/// Block 0 of the model, then a block and a sum that a strategy has added.
plan::Network with_added() {
  plan::Network network = two_blocks();
  network.blocks.push_back(
      {.name = "b.coarse", .srcs = {1}, .dst = 3, .parameters = 6, .macs = 12, .added = true});
  graph::BlockSpec sum{.name = "b.sum", .nodes = {}};
  sum.join("", ops::Add{}, {graph::block_input(0), graph::block_input(1)});
  network.blocks.push_back(
      {.name = "b.sum", .srcs = {2, 3}, .dst = 4, .spec = std::move(sum), .added = true});
  network.tensors = {4, 8, 2, 2, 1000};
  return network;
}

TEST(MeasuredCost, AnAddedBlockOfTheSameNameButAnotherSizeIsNotTheMeasuredOne) {
  ProfilePoint measured = point(10, 1);
  measured.added = {
      {.name = "b.coarse", .forward_ms = 3, .macs = 120, .parameters = 6, .dst_bytes = 4 * 2 * 10}};
  const ProfileFile profile = profile_of({measured});
  plan::Network network = with_added();
  EXPECT_TRUE(knows_added(profile, network, 2));
  const auto cost = make_measured_cost(profile, two_blocks());
  EXPECT_DOUBLE_EQ(cost->added(network, 2, 10).forward, 3e-3);
  network.blocks[2].macs = 1200;  // of a longer piece
  EXPECT_FALSE(knows_added(profile, network, 2));
  EXPECT_NE(cost->added(network, 2, 10).forward, 3e-3);
  network.blocks[2].macs = 12;
  network.blocks[2].name = "c.coarse";  // of equal size elsewhere
  EXPECT_TRUE(knows_added(profile, network, 2));
}

TEST(MeasuredCost, AnAddedSumTakesAsLongAsAddingTwoArrays) {
  ProfileFile profile = profile_of({point(10, 1)});
  profile.sum_bytes_per_second = 8e6;
  const plan::Network network = with_added();
  EXPECT_TRUE(knows_added(profile, network, 3));
  const BlockSeconds join = make_measured_cost(profile, two_blocks())->added(network, 3, 10);
  EXPECT_DOUBLE_EQ(join.forward, 2 * 4 * 1000 * 10 / 8e6);
  EXPECT_EQ(join.backward_weights, 0);
}

TEST(MeasuredCost, IsNamedAfterItsFileOrAsAsked) {
  const ProfileFile profile = profile_of({point(10, 1)});
  EXPECT_EQ(make_measured_cost(profile, two_blocks())->source(), "profile p.json");
  EXPECT_EQ(make_measured_cost(profile, two_blocks(), "measured")->source(), "measured");
}

}  // namespace
}  // namespace plait::cost
