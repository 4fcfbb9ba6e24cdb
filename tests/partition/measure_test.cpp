// Words, messages, loads and lists against counts that follow the definition word by word.
#include "partition/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "partition/exchange.hpp"
#include "partition/sparse_networks.hpp"

namespace plait::partition {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// (layer, owner, reader) -> rows of the layer before, own ones too.
using Needs = std::map<std::tuple<std::size_t, int, int>, std::set<std::int32_t>>;

Needs needs_of(const Network& network, const Partition& partition) {
  Needs needs;
  for (std::size_t k = 0; k < network.size(); ++k) {
    const auto& sources = k == 0 ? partition.input_owners : partition.owners[k - 1];
    if (sources.empty()) continue;
    for (std::int64_t row = 0; row < network[k]->rows; ++row) {
      const int reader = partition.owners[k][static_cast<std::size_t>(row)];
      for (const std::int32_t column : network[k]->row(row)) {
        needs[{k, sources[static_cast<std::size_t>(column)], reader}].insert(column);
      }
    }
  }
  return needs;
}

PartitionMeasure measure_of(const Network& network, const Needs& needs, int parts) {
  PartitionMeasure measure;
  measure.words_forward.assign(network.size(), 0);
  std::vector<std::int64_t> receive(static_cast<std::size_t>(parts), 0);
  for (const auto& [where, rows] : needs) {
    const auto [layer, owner, reader] = where;
    if (owner == reader) continue;
    const auto words = static_cast<std::int64_t>(rows.size());
    measure.words_forward[layer] += words;
    measure.volume_words += 2 * words;
    ++measure.messages;
    receive[static_cast<std::size_t>(reader)] += words;
    receive[static_cast<std::size_t>(owner)] += words;
  }
  measure.max_receive_words = *std::ranges::max_element(receive);
  return measure;
}

struct Case {
  Network network;
  Partition partition;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const Network networks[] = {irregular({13, 40, 7, 60, 31}, 4, 1), rings(8, 3, 5, 2)};
  for (const Network& network : networks) {
    for (const int parts : {1, 2, 5}) {
      for (const bool own_input : {false, true}) {
        PartitionOptions options = options_for(PartitionMethod::random, parts);
        options.own_input = own_input;
        all.push_back({network, make_partition(network, options)});
      }
    }
  }
  return all;
}

TEST(PartitionMeasure, IsWhatCountingGives) {
  for (const auto& [network, partition] : cases()) {
    const PartitionMeasure counted =
        measure_of(network, needs_of(network, partition), partition.parts);
    const PartitionMeasure measured = measure_partition(network, partition);
    EXPECT_EQ(measured.words_forward, counted.words_forward);
    EXPECT_EQ(measured.volume_words, counted.volume_words);
    EXPECT_EQ(measured.max_receive_words, counted.max_receive_words);
    EXPECT_EQ(measured.messages, counted.messages);
  }
}

TEST(PartitionMeasure, ImbalanceIsOfTheWorstLayer) {
  const Network network{pattern_of(4, 2, {{0, 0}, {1, 0}, {2, 1}, {3, 1}}),
                        pattern_of(3, 4, {{0, 0}, {0, 1}, {1, 2}, {2, 3}})};
  Partition partition{.parts = 2, .owners = {{0, 1, 0, 1}, {0, 0, 1}}, .input_owners = {}};
  EXPECT_DOUBLE_EQ(measure_partition(network, partition).imbalance, 0.5);  // 3 of 4 non-zeros
  partition.owners[1] = {0, 1, 1};
  EXPECT_DOUBLE_EQ(measure_partition(network, partition).imbalance, 0);
}

TEST(PartitionMeasure, OfOnePartIsNothing) {
  const Network network = irregular({9, 20, 20}, 3, 3);
  const PartitionMeasure measure =
      measure_partition(network, make_partition(network, options_for(PartitionMethod::block, 1)));
  EXPECT_EQ(measure.volume_words, 0);
  EXPECT_EQ(measure.messages, 0);
  EXPECT_DOUBLE_EQ(measure.imbalance, 0);
}

TEST(ExchangeLists, AreWhatCountingGives) {
  for (const auto& [network, partition] : cases()) {
    Needs needs = needs_of(network, partition);
    for (std::size_t k = 0; k < network.size(); ++k) {
      const ExchangeLists lists = exchange_lists(network, partition, k);
      for (int owner = 0; owner < partition.parts; ++owner) {
        for (int reader = 0; reader < partition.parts; ++reader) {
          const auto& set = needs[{k, owner, reader}];
          const auto list = lists.needed(owner, reader);
          EXPECT_TRUE(std::ranges::equal(list, set)) << k << " " << owner << " " << reader;
        }
      }
    }
  }
}

TEST(ExchangeLists, OfAnInputThatNobodyOwnsAreEmpty) {
  const Network network{pattern_of(2, 2, {{0, 0}, {0, 1}, {1, 1}})};
  Partition partition{.parts = 2, .owners = {{0, 1}}, .input_owners = {}};
  EXPECT_THAT(exchange_lists(network, partition, 0).needed(0, 1), IsEmpty());
  partition.input_owners = {0, 0};
  EXPECT_THAT(exchange_lists(network, partition, 0).needed(0, 1), ElementsAre(1));
  EXPECT_THAT(exchange_lists(network, partition, 0).needed(0, 0), ElementsAre(0, 1));
}

}  // namespace
}  // namespace plait::partition
