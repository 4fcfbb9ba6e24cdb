// What every method promises, and what the default one promises beyond that.
#include "partition/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "partition/measure.hpp"
#include "partition/sparse_networks.hpp"
#include "partition/zoltan.hpp"

namespace plait::partition {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

std::vector<PartitionMethod> methods() {
  std::vector<PartitionMethod> all{PartitionMethod::merged, PartitionMethod::block,
                                   PartitionMethod::random};
  if (has_zoltan()) all.push_back(PartitionMethod::zoltan);
  return all;
}

std::vector<Network> networks() {
  return {irregular({20, 60, 45, 80, 33}, 4, 1), rings(16, 4, 7, 2), rings(8, 6, 4, 3)};
}

std::int64_t volume(const Network& network, const PartitionOptions& options) {
  return measure_partition(network, make_partition(network, options)).volume_words;
}

/// No part of any layer weighs more than this.
void expect_loads(const Network& network, const Partition& partition, double tolerance) {
  for (std::size_t k = 0; k < network.size(); ++k) {
    std::vector<double> load(static_cast<std::size_t>(partition.parts), 0);
    double heaviest_row = 0;
    for (std::int64_t row = 0; row < network[k]->rows; ++row) {
      const auto weight = static_cast<double>(network[k]->row(row).size());
      load[static_cast<std::size_t>(partition.owners[k][static_cast<std::size_t>(row)])] += weight;
      heaviest_row = std::max(heaviest_row, weight);
    }
    const double mean = static_cast<double>(network[k]->size()) / partition.parts;
    EXPECT_LE(*std::ranges::max_element(load),
              std::max(mean * (1 + tolerance), mean + heaviest_row))
        << "layer " << k << " of " << partition.parts << " parts";
  }
}

TEST(Partition, GivesEveryRowAnOwnerAndBalancesTheLayers) {
  for (const Network& network : networks()) {
    for (const PartitionMethod method : methods()) {
      for (const int parts : {1, 2, 3, 8, 33}) {
        for (const bool own_input : {false, true}) {
          if (own_input && parts > network[0]->columns) continue;
          SCOPED_TRACE(std::string(method_name(method)));
          PartitionOptions options = options_for(method, parts);
          options.own_input = own_input;
          const Partition partition = make_partition(network, options);
          const PartitionRecord record{partition, method, 1, layers_hash(network)};
          EXPECT_NO_THROW(check_record(record, network, "here"));
          EXPECT_EQ(partition.parts, parts);
          EXPECT_EQ(partition.input_owners.empty(), !own_input);
          expect_loads(network, partition, options.tolerance);
        }
      }
    }
  }
}

TEST(Partition, IsTheSameEveryTime) {
  const Network network = irregular({20, 60, 45, 80}, 4, 5);
  for (const PartitionMethod method : methods()) {
    const PartitionOptions options = options_for(method, 4);
    EXPECT_EQ(make_partition(network, options), make_partition(network, options))
        << method_name(method);
  }
}

TEST(Partition, DependsOnTheSeed) {
  const Network network = irregular({20, 60, 45, 80}, 4, 5);
  for (const PartitionMethod method : {PartitionMethod::merged, PartitionMethod::random}) {
    PartitionOptions options = options_for(method, 4);
    const Partition first = make_partition(network, options);
    options.seed = 2;
    EXPECT_NE(make_partition(network, options), first) << method_name(method);
  }
}

TEST(Partition, KeepsTheToleranceWhereSingleRowsAllowIt) {
  const Network network = rings(16, 16, 5, 1);  // 256 rows, 32 non-zeros each, classes of 16 rows
  for (const PartitionMethod method : methods()) {
    for (const int parts : {2, 3, 5, 6, 7, 16, 32}) {
      const double rows = 256.0 / parts;
      const double possible = std::max(0.01, std::ceil(rows) / rows - 1);
      const PartitionMeasure measure =
          measure_partition(network, make_partition(network, options_for(method, parts)));
      EXPECT_LE(measure.imbalance, possible + 1e-9) << method_name(method) << " " << parts;
    }
  }
}

TEST(Partition, MorePartsThanRowsAreRefusedWithTheMost) {
  const Network network = irregular({9, 30, 12, 20}, 3, 1);
  const PartitionOptions options = options_for(PartitionMethod::merged, 13);
  EXPECT_THAT(refusal([&] { make_partition(network, options); }), HasSubstr("use at most 12"));
  PartitionOptions own = options_for(PartitionMethod::block, 10);
  own.own_input = true;
  EXPECT_THAT(refusal([&] { make_partition(network, own); }), HasSubstr("use at most 9"));
  EXPECT_NO_THROW(make_partition(network, options_for(PartitionMethod::merged, 12)));
}

TEST(Partition, WrongArgumentsAreRefused) {
  const Network network = irregular({9, 30, 12}, 3, 1);
  const Network broken{network[1], network[0]};
  EXPECT_THAT(refusal([&] { make_partition(broken, options_for(PartitionMethod::block, 2)); }),
              HasSubstr("layer 2 reads 9 inputs, but layer 1 before it has 12"));
  EXPECT_THAT(refusal([&] { make_partition(network, options_for(PartitionMethod::block, 0)); }),
              HasSubstr("at least 1"));
  EXPECT_THAT(refusal([&] { make_partition({}, options_for(PartitionMethod::block, 1)); }),
              HasSubstr("at least one sparse layer"));
  EXPECT_THAT(refusal([] { method_named("merge"); }), HasSubstr("did you mean 'merged'?"));
}

TEST(Partition, MethodsHaveNames) {
  for (const PartitionMethod method : methods()) {
    EXPECT_EQ(method_named(std::string(method_name(method))), method);
  }
}

TEST(Partition, BlockIsContiguousAndRandomIsNot) {
  const Network network = rings(8, 8, 3, 1);
  const Partition blocks = make_partition(network, options_for(PartitionMethod::block, 4));
  const Partition dealt = make_partition(network, options_for(PartitionMethod::random, 4));
  EXPECT_TRUE(std::ranges::is_sorted(blocks.owners[1]));
  EXPECT_FALSE(std::ranges::is_sorted(dealt.owners[1]));
}

TEST(Partition, SaysHowFarItIs) {
  const Network network = rings(8, 4, 3, 1);
  for (const PartitionMethod method : methods()) {
    PartitionOptions options = options_for(method, 2);
    int last = 0;
    int end = 0;
    options.progress = [&](int done, int all) {
      EXPECT_EQ(done, last + 1);
      last = done;
      end = all;
    };
    make_partition(network, options);
    EXPECT_GT(end, 0);
    EXPECT_EQ(last, end) << method_name(method);
  }
}

TEST(MergedPartition, IsNeverWorseThanTheOthers) {
  for (const Network& network : networks()) {
    for (const int parts : {2, 3, 8}) {
      const std::int64_t merged = volume(network, options_for(PartitionMethod::merged, parts));
      for (const PartitionMethod method : methods()) {
        EXPECT_LE(merged, volume(network, options_for(method, parts)))
            << method_name(method) << " " << parts;
      }
    }
  }
}

/// A layer cut into arcs of whole rings sends no more than (N + block * parts)(1 - 1 / parts)
/// words.
TEST(MergedPartition, FindsTheRings) {
  const Network network = rings(32, 8, 10, 1);
  for (const int parts : {2, 4, 8}) {
    const PartitionMeasure measure = measure_partition(
        network, make_partition(network, options_for(PartitionMethod::merged, parts)));
    const double bound = (256 + 8 * parts) * (1 - 1.0 / parts);
    const double mean = static_cast<double>(measure.volume_words) / 2 / 9;
    EXPECT_LT(mean, 0.9 * bound) << parts;
    EXPECT_LE(measure.imbalance, 0.01) << parts;
  }
}

TEST(PartitionRecord, BelongsToItsNetwork) {
  const Network network = rings(8, 4, 3, 1);
  const Network other = rings(8, 4, 5, 1);
  PartitionRecord record;
  record.partition = make_partition(network, options_for(PartitionMethod::block, 2));
  record.network = layers_hash(network);
  EXPECT_NO_THROW(check_record(record, network, "file"));
  EXPECT_THAT(refusal([&] { check_record(record, other, "file"); }), HasSubstr("file: "));
  const Network same_size{network[0], network[0], network[2]};
  EXPECT_THAT(refusal([&] { check_record(record, same_size, "file"); }),
              HasSubstr("another network"));
  record.partition.owners[1][3] = 2;
  EXPECT_THAT(refusal([&] { check_record(record, network, "file"); }), HasSubstr("2 parts"));
}

TEST(Zoltan, IsThereOrSaysHowToGetIt) {
  const Network network = rings(8, 4, 3, 1);
  const PartitionOptions options = options_for(PartitionMethod::zoltan, 2);
  if (has_zoltan()) {
    EXPECT_NO_THROW(make_partition(network, options));
  } else {
    EXPECT_THAT(refusal([&] { make_partition(network, options); }),
                HasSubstr("libtrilinos-zoltan-dev"));
  }
}

TEST(Partition, RowsWithoutElementsStillLeaveNobodyOut) {
  // 16 rows of which two have elements: balance alone would feed two parts.
  tensor::SparsePattern pattern{.rows = 16, .columns = 16, .row_begin = {0}, .column = {}};
  for (int row = 0; row < 16; ++row) {
    if (row == 3 || row == 9) pattern.column.insert(pattern.column.end(), {1, 5});
    pattern.row_begin.push_back(pattern.size());
  }
  const auto layer = std::make_shared<const tensor::SparsePattern>(std::move(pattern));
  const Network network{layer, layer};
  for (const PartitionMethod method : methods()) {
    const Partition partition = make_partition(network, {.parts = 4, .method = method});
    for (const auto& owners : partition.owners) {
      for (std::int32_t part = 0; part < 4; ++part) {
        EXPECT_GT(std::ranges::count(owners, part), 0) << method_name(method);
      }
    }
  }
}

}  // namespace
}  // namespace plait::partition
