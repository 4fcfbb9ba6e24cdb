// Plans of parareal: sound whatever the numbers, one message per interface, sweep and direction,
// as long as the formula says; and what is refused.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "plan/check.hpp"
#include "plan/message_name.hpp"
#include "simulate/simulate.hpp"
#include "strategy/parareal_testing.hpp"

namespace plait::strategy {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Numbers {
  int pieces = 2;
  int sweeps = 1;
  int workers = 1;  ///< of each replica
  int microbatches = 1;
  int replicas = 1;
  CoarseKind coarse = CoarseKind::block;

  std::string text() const {
    return fmt::format("{} pieces, {} sweeps, {} x {} workers, {} microbatches, {}", pieces, sweeps,
                       replicas, workers, microbatches, name_of(coarse));
  }
};

plan::Plan plan_of(const plan::Network& network, const Numbers& n) {
  const plan::Machine machine = one_node(n.replicas * n.workers);
  return make_plan(
      "parareal",
      {.network = network,
       .machine = machine,
       .batch = 16,
       .microbatches = n.microbatches,
       .tear = {
           .pieces = n.pieces, .replicas = n.replicas, .sweeps = n.sweeps, .coarse = n.coarse}});
}

std::vector<Numbers> combinations(const plan::Network& network) {
  std::vector<Numbers> all;
  for (const CoarseKind coarse : coarse_kinds()) {
    for (int pieces = 2; pieces <= 6; ++pieces) {
      if (!can_tear(network, pieces, coarse)) continue;
      for (int sweeps = 1; sweeps <= pieces; ++sweeps) {
        for (int workers = 1; workers <= pieces; ++workers) {
          for (const int microbatches : {1, 3}) {
            for (const int replicas : {1, 2}) {
              all.push_back({pieces, sweeps, workers, microbatches, replicas, coarse});
            }
          }
        }
      }
    }
  }
  return all;
}

/// The same tearing once more, which the plan does not name.
TornNetwork torn_of(const plan::Network& network, const plan::Plan& plan, const Numbers& n) {
  const TornChain chain(network);
  const auto tearing = tearing_of(chain, weight_names(plan.network));
  EXPECT_TRUE(tearing) << n.text();
  return tear_network(chain, *tearing, n.sweeps);
}

/// Values u_j of the torn network that piece j + 1 reads, be it for its difference or as the x of
/// the next sweep: by tensor, the piece that makes it.
std::map<int, int> crossings(const TornNetwork& torn) {
  std::map<int, int> found;
  for (int sweep = 0; sweep < torn.sweeps(); ++sweep) {
    for (int piece = 1; piece < torn.pieces(); ++piece) {
      if (!torn.has(sweep, piece)) continue;
      const TornCell& cell = torn.cell(sweep, piece);
      if (sweep > 0) found[cell.x] = piece - 1;
      if (cell.difference >= 0) {
        found[torn.network.blocks[static_cast<std::size_t>(cell.difference)].srcs[0]] = piece - 1;
      }
    }
  }
  return found;
}

class EveryTornNetwork : public testing::TestWithParam<const char*> {};

TEST_P(EveryTornNetwork, HasSoundPlansWithOneMessagePerInterfaceSweepAndDirection) {
  const plan::Network network = network_of(GetParam());
  const std::vector<Numbers> all = combinations(network);
  ASSERT_GE(all.size(), 16U);
  for (const Numbers& n : all) {
    const plan::Plan plan = plan_of(network, n);  // checked there
    const TornNetwork torn = torn_of(network, plan, n);
    ASSERT_EQ(plan::network_hash(torn.network), plan::network_hash(plan.network)) << n.text();
    int wanted = 0;
    for (const auto& [tensor, piece] : crossings(torn)) {
      const bool apart = piece * n.workers / n.pieces != (piece + 1) * n.workers / n.pieces;
      wanted += apart ? n.microbatches * n.replicas : 0;
    }
    std::map<plan::Role, int> sent;
    std::set<plan::MessageName> different;
    for (int worker = 0; worker < plan.workers(); ++worker) {
      for (const plan::Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
        if (!plan::is<plan::Send>(task)) continue;
        ++sent[plan::message_of(task)->value.role];
        different.insert(plan::name_of_message(worker, task));
        EXPECT_EQ(std::abs(plan::message_of(task)->peer - worker), 1) << n.text();
      }
    }
    ASSERT_EQ(sent[plan::Role::tensor], wanted) << n.text();
    ASSERT_EQ(sent[plan::Role::diff], wanted) << n.text();
    ASSERT_EQ(different.size(), static_cast<std::size_t>(2 * wanted)) << n.text();
    ASSERT_EQ(sent.size(), 2U) << n.text();
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryTornNetwork,
                         testing::Values("mlp:32-32-32-32-32-32", "lenet", "resnet20"),
                         [](const auto& one) { return std::string(one.param).substr(0, 3); });

TEST(PararealPlan, PassesTheCheckOnceMore) {
  for (const char* name : {"mlp:32-32-32-32-32-32", "resnet20"}) {
    const plan::Network network = network_of(name);
    for (const int sweeps : {1, 2, 4}) {
      EXPECT_THAT(plan::faults(plan_of(network, {4, sweeps, 4, 3, 2})), IsEmpty())
          << name << sweeps;
    }
  }
}

TEST(PararealPlan, OneSweepHasOneMessagePerInterfaceAndDirection) {
  const plan::Network network = network_of(kDeep);
  for (int pieces = 2; pieces <= 6; ++pieces) {
    const TornNetwork torn =
        torn_of(network, plan_of(network, {pieces, 1, pieces}), {pieces, 1, pieces});
    EXPECT_EQ(crossings(torn).size(), static_cast<std::size_t>(pieces - 1));
  }
}

TEST(PararealPlan, SweepsComputeWhatTheResultNeeds) {
  const plan::Network network = network_of(kDeep);
  for (int pieces = 2; pieces <= 6; ++pieces) {
    for (int sweeps = 1; sweeps <= pieces; ++sweeps) {
      const Numbers n{pieces, sweeps, 1};
      const TornNetwork torn = torn_of(network, plan_of(network, n), n);
      for (int sweep = 0; sweep < sweeps; ++sweep) {
        int cells = 0;
        for (int piece = 0; piece < pieces; ++piece) cells += torn.has(sweep, piece) ? 1 : 0;
        EXPECT_EQ(cells, pieces - sweeps + 1) << n.text();
      }
    }
  }
}

TEST(PararealPlan, BatchNormMovesOnceASweepAndEveryBlockIsUpdatedOnItsOneWorker) {
  const plan::Network network = network_of("resnet20");
  for (const int sweeps : {1, 2, 3}) {
    const plan::Plan plan = plan_of(network, {3, sweeps, 3, 3});
    std::map<int, std::multiset<int>> moved;  // sets of running statistics
    std::map<int, int> updated;
    std::map<int, int> times;  // that a block is computed
    for (int b = 0; b < plan.network.size(); ++b) ++times[plan.network.home_of(b)];
    for (const plan::Program& program : plan.programs) {
      for (const plan::Task& task : program.tasks) {
        if (plan::is<plan::Update>(task)) ++updated[plan::block_of(task)];
        const auto* forward = std::get_if<plan::Forward>(&task.what);
        if (forward == nullptr || !forward->moves_state) continue;
        const auto index = static_cast<std::size_t>(forward->block);
        const plan::NetworkBlock& block = plan.network.blocks[index];
        if (block.state > 0) moved[plan.network.home_of(forward->block)].insert(block.state_set);
      }
    }
    for (int b = 0; b < plan.network.size(); ++b) {
      const plan::NetworkBlock& block = plan.network.blocks[static_cast<std::size_t>(b)];
      if (block.weights_of >= 0 || block.added) continue;
      const std::set<int> sets(moved[b].begin(), moved[b].end());
      EXPECT_EQ(sets.size(), moved[b].size()) << block.name << " moves one twice";
      EXPECT_EQ(static_cast<int>(sets.size()), block.state > 0 ? times[b] : 0) << block.name;
      EXPECT_EQ(sets.contains(0), block.state > 0) << block.name;
      EXPECT_EQ(updated[b], block.parameters > 0 ? 1 : 0) << block.name;
    }
  }
}

std::string one_line(const PlanRequest& request) {
  const std::string message = refusal("parareal", request);
  EXPECT_THAT(message, AllOf(Not(HasSubstr("\n")), Not("no UserError")));
  return message;
}

TEST(PararealRefusals, BlameASetting) {
  const plan::Network network = network_of(kDeep);
  const auto blamed = [&](int workers, const TearRequest& tear) {
    const plan::Machine machine = one_node(workers);
    try {
      make_plan("parareal", {.network = network, .machine = machine, .batch = 16, .tear = tear});
    } catch (const UserError& error) {
      return error.field() + " " + error.value();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(blamed(4, {.pieces = 3}), "workers 4");
  EXPECT_EQ(blamed(5, {.pieces = 2, .replicas = 2}), "replicas 2");
  EXPECT_EQ(blamed(2, {.pieces = 2, .sweeps = 3}), "sweeps 3");
  EXPECT_EQ(blamed(20, {.pieces = 20}), "pieces 20");
}

TEST(PararealRefusals, AreOneLineWithAValueThatWorks) {
  const plan::Network network = network_of(kDeep);
  const auto ask = [&](int workers, const TearRequest& tear, std::int64_t batch = 16,
                       int microbatches = 1, bool clip = false) {
    const plan::Machine machine = one_node(workers);
    return one_line({.network = network,
                     .machine = machine,
                     .batch = batch,
                     .microbatches = microbatches,
                     .clip = clip,
                     .tear = tear});
  };
  EXPECT_THAT(ask(4, {.pieces = 3}), AllOf(HasSubstr("`workers` 4"), HasSubstr("`pieces` 4")));
  EXPECT_THAT(ask(8, {.pieces = 3, .replicas = 2}), HasSubstr("`workers` 8"));
  EXPECT_THAT(ask(5, {.pieces = 2, .replicas = 2}),
              AllOf(HasSubstr("`replicas` 2"), HasSubstr("`workers` 4")));
  EXPECT_THAT(ask(1, {.pieces = 2, .replicas = 2}), HasSubstr("`replicas` 1"));
  EXPECT_THAT(ask(2, {.pieces = 2, .sweeps = 3}), HasSubstr("`sweeps` 3"));
  EXPECT_THAT(ask(2, {.pieces = 2, .sweeps = 0}), HasSubstr("`sweeps` 0"));
  EXPECT_THAT(ask(2, {.pieces = 2}, 16, 1, true), HasSubstr("`clip_norm`"));
  EXPECT_THAT(ask(2, {.pieces = 2}, 3, 4), AllOf(HasSubstr("`batch` 3"), HasSubstr("at least 4")));
  EXPECT_THAT(ask(4, {.pieces = 2, .replicas = 2}, 5, 3), HasSubstr("at least 6"));
  EXPECT_THAT(ask(2, {.pieces = 7}), HasSubstr("use `pieces` 6"));
  EXPECT_THAT(ask(7, {.pieces = kBestPieces, .replicas = 3}), HasSubstr("`pieces` auto"));
}

TEST(PararealRequest, IsMadeOfTheSettings) {
  PararealOptions options{
      .pieces = "auto", .sweeps = 3, .coarse = "conv", .residual_wire = "bf16", .replicas = 2};
  const TearRequest request = tear_request(options);
  EXPECT_EQ(request.pieces, kBestPieces);
  EXPECT_EQ(request.replicas, 2);
  EXPECT_EQ(request.sweeps, 3);
  EXPECT_EQ(request.coarse, CoarseKind::conv);
  EXPECT_TRUE(request.half_wire);
  options.pieces = "4";
  EXPECT_EQ(tear_request(options).pieces, 4);
}

TEST(PararealRefusals, ClippingIsFineOnOneWorker) {
  const plan::Network network = network_of(kDeep);
  const plan::Machine machine = one_node(1);
  const plan::Plan plan = make_plan(
      "parareal", {.network = network, .machine = machine, .clip = true, .tear = {.pieces = 3}});
  EXPECT_EQ(std::ranges::count_if(plan.programs.front().tasks, plan::is<plan::Clip>), 1);
}

/// N equal blocks and a head.
struct EqualPieces {
  explicit EqualPieces(int pieces)
      : network(flat_network(std::vector<std::int64_t>(static_cast<std::size_t>(pieces) + 2, 8))),
        cost(seconds(network), {0.125, 0, 0.0625, 0.03125}, {0.0625, 0.03125, 0.015625, 0.03125}) {}
  plan::Network network;
  TornCost cost;

 private:
  /// The ReLUs take no time.
  static std::vector<cost::BlockSeconds> seconds(const plan::Network& network) {
    std::vector<cost::BlockSeconds> all;
    for (const plan::NetworkBlock& block : network.blocks) {
      const cost::BlockSeconds linear{1, 1.25, 0.75, 0.03125};
      all.push_back(block.parameters > 0 ? linear : cost::BlockSeconds{});
    }
    return all;
  }
};

TEST(PararealTime, OfOneSweepIsTheFormula) {
  constexpr std::int64_t kBatch = 4;
  for (int pieces = 2; pieces <= 8; ++pieces) {
    const EqualPieces made(pieces);
    const plan::Machine machine = one_node(pieces);
    const plan::Plan plan = make_plan("parareal", {.network = made.network,
                                                   .machine = machine,
                                                   .cost = &made.cost,
                                                   .batch = kBatch,
                                                   .tear = {.pieces = pieces}});
    // T = max_j (C_j + g_j) + sum F_j + h; of F_j the chain waits for forward and backward_data,
    // its backward_weights and update are the piece's own; the head's update is off the way
    const cost::BlockSeconds g = made.cost.block(0, kBatch);
    const cost::BlockSeconds enter{0.125 * kBatch, 0, 0.0625 * kBatch, 0.03125};
    const cost::BlockSeconds coarse{0.0625 * kBatch, 0.03125 * kBatch, 0.015625 * kBatch, 0.03125};
    const double own = total(g) + total(enter) + coarse.backward_weights + coarse.update;
    const double wanted = own + (pieces - 1) * (coarse.forward + coarse.backward_data) + g.forward +
                          g.backward_data + g.backward_weights;
    const simulate::Simulation played = simulate::simulate(
        plan, made.cost, {.minibatches = simulate::steady_minibatches(plan), .keep_events = false});
    EXPECT_NEAR(played.step_seconds, wanted, 0.01 * wanted) << pieces;
  }
}

TEST(PararealTime, AutoIsAsFastAsEveryChoiceItHas) {
  for (const char* name : {"mlp:512-512-512-512-512-512-512-512", "resnet20", "resnet164"}) {
    const plan::Network network = network_of(name);
    const auto cost = cost::make_analytic_cost(network);
    for (const int workers : {1, 2, 4, 6, 8}) {
      const plan::Machine machine = one_node(workers, plan::kUsualInside);
      const auto seconds = [&](int pieces, int replicas) {
        const plan::Plan plan =
            make_plan("parareal", {.network = network,
                                   .machine = machine,
                                   .cost = cost.get(),
                                   .tear = {.pieces = pieces, .replicas = replicas}});
        return simulate::simulate(
                   plan, *cost,
                   {.minibatches = simulate::steady_minibatches(plan), .keep_events = false})
            .step_seconds;
      };
      const double best = seconds(kBestPieces, 0);
      for (int replicas = 1; 2 * replicas <= std::max(2, workers); ++replicas) {
        if (workers % replicas != 0) continue;
        const int pieces = std::max(2, workers / replicas);
        EXPECT_LE(best, seconds(pieces, replicas) * (1 + 1e-9))
            << name << ", " << workers << " workers, " << replicas << " replicas";
        EXPECT_LE(best, seconds(kBestPieces, replicas) * (1 + 1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace plait::strategy
