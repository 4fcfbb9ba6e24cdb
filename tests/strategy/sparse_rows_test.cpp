// Networks cut by rows: every element is somewhere once, what travels is what the partition says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cost/analytic.hpp"
#include "graph/parameters.hpp"
#include "partition/measure.hpp"
#include "plan/check.hpp"
#include "simulate/simulate.hpp"
#include "strategy/sparse_rows_testing.hpp"

namespace plait::strategy {
namespace {

plan::Network radixnet(const std::string& size) {
  return plan::make_network(graph::make_model("radixnet:" + size, {1, 28, 28}, 10));
}

std::vector<plan::Network> networks() { return {plan::make_network(mixed()), radixnet("64x6")}; }

plan::Plan plan_of(const plan::Network& network, int count,
                   partition::PartitionMethod method = partition::PartitionMethod::merged) {
  return make_plan(
      "sparse_rows",
      {.network = network, .machine = workers(count), .batch = 8, .partition = with(method)});
}

const ops::SparseLinear* linear_of(const plan::NetworkBlock& block) {
  for (const graph::Node& node : block.spec.nodes) {
    if (const auto* linear = std::get_if<ops::SparseLinear>(&node.layer)) return linear;
  }
  return nullptr;
}

/// The worker that runs the forward of each block; every block has one.
std::vector<int> runners(const plan::Plan& plan) {
  std::vector<int> who(plan.network.blocks.size(), -1);
  for (int worker = 0; worker < plan.workers(); ++worker) {
    for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
      if (!plan::is<plan::Forward>(task)) continue;
      int& runner = who.at(static_cast<std::size_t>(plan::block_of(task)));
      EXPECT_EQ(runner, -1) << "two workers run block " << plan::block_of(task);
      runner = worker;
    }
  }
  return who;
}

/// Where the elements of every parameter of the model are: how often, and on which worker.
struct Whereabouts {
  std::map<std::string, std::vector<int>> times;
  std::map<std::string, std::vector<int>> worker;

  explicit Whereabouts(const plan::Plan& plan) {
    const std::vector<int> who = runners(plan);
    for (std::size_t b = 0; b < plan.network.blocks.size(); ++b) {
      const ops::SparseLinear* linear = linear_of(plan.network.blocks[b]);
      if (linear == nullptr) continue;
      EXPECT_EQ(std::ssize(linear->piece->weight->positions), linear->pattern->size());
      note(*linear->piece->weight, who[b]);
      if (linear->bias) note(*linear->piece->bias, who[b]);
    }
  }
  void note(const ops::ParameterPart& part, int runner) {
    const auto size = static_cast<std::size_t>(part.whole.shape.elements());
    times[part.name].resize(size, 0);
    worker[part.name].resize(size, -1);
    for (const std::int64_t position : part.positions) {
      ++times[part.name].at(static_cast<std::size_t>(position));
      worker[part.name].at(static_cast<std::size_t>(position)) = runner;
    }
  }
};

TEST(SparseRows, EveryElementIsInOnePieceOfItsOwner) {
  for (const plan::Network& network : networks()) {
    const Patterns layers = row_patterns(network);
    for (const int count : {1, 2, 3, 8}) {
      const Whereabouts found(plan_of(network, count));
      const RowOwners owners = with(partition::PartitionMethod::merged)(layers, count);
      std::size_t parameters = 0;
      std::vector<std::string> blocks;  // of the model
      const std::vector<tensor::Shape> shapes = plan::tensor_shapes(network);
      for (const plan::NetworkBlock& block : network.blocks) {
        parameters += graph::block_parameters(block.spec, plan::src_shapes(block, shapes)).size();
        if (block.parameters > 0) blocks.push_back(block.spec.name);
      }
      EXPECT_EQ(found.times.size(), parameters);
      for (const auto& [name, times] : found.times) {
        EXPECT_THAT(times, testing::Each(1)) << name << " on " << count;
      }
      for (std::size_t k = 0; k < layers.size(); ++k) {
        const std::string name = blocks.at(k) + (network.name == "mixed" ? "." : ".linear.");
        for (const auto& [full, worker] : found.worker) {
          if (!full.starts_with(name) || !full.ends_with("weight")) continue;
          for (std::int64_t row = 0; row < layers[k]->rows; ++row) {
            const auto r = static_cast<std::size_t>(row);
            for (std::int64_t e = layers[k]->row_begin[r]; e < layers[k]->row_begin[r + 1]; ++e) {
              ASSERT_EQ(worker.at(static_cast<std::size_t>(e)), owners[k][r]) << full;
            }
          }
        }
      }
    }
  }
}

TEST(SparseRows, EverybodyUpdatesWhatItComputes) {
  for (const plan::Network& network : networks()) {
    const plan::Plan plan = plan_of(network, 3);
    EXPECT_TRUE(plan::faults(plan).empty());
    EXPECT_TRUE(plan::is_cut(plan.network));
    EXPECT_FALSE(plan::is_cut(network));
    const std::vector<int> who = runners(plan);
    const std::vector<int> updates = owners(plan);
    for (std::size_t b = 0; b < who.size(); ++b) {
      if (linear_of(plan.network.blocks[b]) == nullptr) continue;
      EXPECT_EQ(updates[b], who[b]);
    }
    EXPECT_EQ(plan.network.parameters(), network.parameters());
    EXPECT_EQ(plan.network.macs(), network.macs());
  }
}

/// All layers with their owners, the last one's being worker 0.
partition::PartitionMeasure measured(const plan::Network& network, int count,
                                     partition::PartitionMethod method) {
  Patterns layers = row_patterns(network);
  partition::Partition partition =
      partition::make_partition(layers, {.parts = count, .method = method});
  std::vector<tensor::MatrixEntry> all;
  const std::int64_t columns = layers.back()->rows;
  for (std::int64_t i = 0; i < 10 * columns; ++i) all.push_back({i / columns, i % columns, 0});
  layers.push_back(tensor::make_sparse_matrix(10, columns, std::move(all), "head").pattern);
  partition.owners.emplace_back(10, 0);
  return partition::measure_partition(layers, partition);
}

TEST(SparseRows, SendsTheWordsOfThePartition) {
  for (const plan::Network& network : networks()) {
    for (const int count : {2, 3, 8}) {
      for (const partition::PartitionMethod method :
           {partition::PartitionMethod::merged, partition::PartitionMethod::random}) {
        const plan::Plan plan = plan_of(network, count, method);
        const partition::PartitionMeasure measure = measured(network, count, method);
        std::int64_t words = 0;
        for (const auto& list : plan.row_lists) words += std::ssize(list);
        EXPECT_EQ(2 * words, measure.volume_words);
        EXPECT_EQ(std::ssize(plan.row_lists), measure.messages);
        std::vector<std::int64_t> sends(plan.row_lists.size(), 0);
        std::vector<std::int64_t> received(static_cast<std::size_t>(count), 0);
        std::int64_t bytes = 0;
        for (int worker = 0; worker < count; ++worker) {
          for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
            bytes += plan::wire_bytes(plan, worker, task);
            if (!plan::is<plan::Send>(task)) continue;
            const auto list = static_cast<std::size_t>(plan::message_of(task)->list);
            ++sends.at(list);
            received.at(static_cast<std::size_t>(plan::message_of(task)->peer)) +=
                std::ssize(plan.row_lists[list]);
          }
        }
        EXPECT_THAT(sends, testing::Each(2));  // forth and back
        EXPECT_EQ(bytes, measure.volume_words * plan.batch * 4);
        EXPECT_EQ(std::ranges::max(received), measure.max_receive_words);
      }
    }
  }
}

TEST(SparseRows, TheSharesOfALayerAddUpToOne) {
  for (const plan::Network& network : networks()) {
    const plan::Plan plan = plan_of(network, 3);
    std::vector<double> shares(network.blocks.size(), 0);
    for (const plan::NetworkBlock& block : plan.network.blocks) {
      shares.at(static_cast<std::size_t>(block.whole)) += block.share;
    }
    for (std::size_t b = 0; b < shares.size(); ++b) {
      EXPECT_NEAR(shares[b], network.blocks[b].parameters > 0 ? 1 : 0, 1e-12);
    }
  }
}

TEST(SparseRows, SimulatesToASaneStep) {
  const plan::Network network = radixnet("256x20");
  const auto cost = cost::make_analytic_cost(network);
  const auto play = [&](const plan::Machine& machine, partition::PartitionMethod method) {
    const plan::Plan plan = make_plan("sparse_rows", {.network = network,
                                                      .machine = machine,
                                                      .cost = cost.get(),
                                                      .batch = 64,
                                                      .partition = with(method)});
    const simulate::Simulation result = simulate::simulate(plan, *cost);
    std::int64_t bytes = 0;
    for (const auto& list : plan.row_lists) bytes += 2 * 64 * 4 * std::ssize(list);
    EXPECT_EQ(result.bytes_per_step, bytes);
    EXPECT_EQ(result.messages_per_step, 2 * std::ssize(plan.row_lists));
    return result.step_seconds;
  };
  const plan::Machine one = workers(1);
  double serial = simulate::simulate(
                      make_plan("serial", {.network = network, .machine = one, .batch = 64}), *cost)
                      .step_seconds;
  for (int b = 0; b < network.size(); ++b) {  // what a piece does on its way
    const cost::BlockSeconds seconds = cost->block(b, 64);
    const bool aside = network.blocks[static_cast<std::size_t>(b)].parameters == 0;
    if (aside) serial -= seconds.forward + (network.has_backward(b) ? seconds.backward_data : 0);
  }
  EXPECT_NEAR(play(one, partition::PartitionMethod::merged), serial, 1e-6 * serial);
  plan::Machine many = workers(4);
  many.inside = {};  // messages take no time
  const double free = play(many, partition::PartitionMethod::merged);
  EXPECT_LT(free, serial);
  EXPECT_GT(free, serial / 4);  // the head and the first layer's balance
  many.inside = {.bytes_per_second = 1e6, .latency_seconds = 1e-3};
  const double slow = play(many, partition::PartitionMethod::merged);
  EXPECT_GT(slow, 20 * 2 * 1e-3);  // a message per layer and way
  EXPECT_GT(play(many, partition::PartitionMethod::random), slow);
}

TEST(SparseRows, WithoutAPartitionRowsGoInEqualRuns) {
  const plan::Network network = radixnet("64x4");
  const plan::Plan plan = make_plan(
      "sparse_rows", {.network = network, .machine = workers(4), .batch = 8, .partition = {}});
  const Whereabouts found(plan);
  std::vector<int> expected(64);
  for (std::size_t row = 0; row < 64; ++row) expected[row] = static_cast<int>(row / 16);
  EXPECT_EQ(found.worker.at("layer2.linear.bias"), expected);
}

}  // namespace
}  // namespace plait::strategy
