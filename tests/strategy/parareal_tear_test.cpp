// Where a chain is torn: the head, the balance of the pieces, what is refused, and the way back
// from the names of weights.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "graph/model_file.hpp"
#include "strategy/parareal/added_blocks.hpp"
#include "strategy/parareal/tear.hpp"
#include "strategy/parareal/torn_weights.hpp"
#include "strategy/parareal_testing.hpp"

namespace plait::strategy {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string head_name(const plan::Network& network) {
  const TornChain chain(network);
  return chain.name(chain.head());
}

TEST(PararealHead, IsTheLastBlockWithParametersAndWhatHasNoneAroundIt) {
  EXPECT_EQ(head_name(network_of(kDeep)), "fc7");
  EXPECT_EQ(head_name(network_of("lenet")), "fc2");
  EXPECT_EQ(head_name(network_of("vgg11")), "pool5");
  EXPECT_EQ(head_name(network_of("resnet20")), "head");
  EXPECT_EQ(head_name(network_of("linear")), "fc1");
}

TEST(PararealHead, WhatFollowsIsOfTheHead) {
  graph::ModelSpec model{.name = "tail", .input = {8}, .blocks = {}};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    graph::BlockSpec& block =
        model.blocks.emplace_back(graph::BlockSpec{.name = name, .nodes = {}});
    if (std::string_view("ac").find(name) != std::string_view::npos) {
      block.then("linear", ops::Linear{.out_features = 8});
    } else {
      block.then("relu", ops::Activation{});
    }
  }
  // a has weights, b none, c the last weights, d and e none
  EXPECT_EQ(head_name(plan::make_network(model)), "b");
}

TEST(PararealHead, NoPieceBeginsInIt) {
  for (const char* name : {"lenet", "vgg11", "resnet20", "resnet164"}) {
    const plan::Network network = network_of(name);
    const TornChain chain(network);
    for (const int place : chain.places()) {
      EXPECT_GT(place, 0) << name;
      EXPECT_LT(place, chain.head()) << name;
    }
  }
}

TEST(PararealChain, NeedsOneAndItsLayers) {
  // One tensor crosses nowhere but before the first block.
  const plan::Network dense = plan::make_network(graph::parse_model(
      "[[block]]\nname = \"a\"\nlayers = [{type = \"linear\", out = 4}]\n"
      "[[block]]\nname = \"b\"\nlayers = [{type = \"linear\", out = 4}]\ninputs = [\"input\"]\n"
      "[[block]]\nname = \"c\"\nlayers = [{type = \"add\"}]\ninputs = [\"a\", \"b\"]\n"
      "[[block]]\nname = \"d\"\nlayers = [{type = \"concat\"}]\ninputs = [\"a\", \"c\"]\n"
      "[[block]]\nname = \"e\"\nlayers = [{type = \"add\"}, {type = \"linear\", out = 4}]\n"
      "inputs = [\"c\", \"b\"]\n"
      "[[block]]\nname = \"f\"\nlayers = [{type = \"concat\"}, {type = \"linear\", out = 3}]\n"
      "inputs = [\"d\", \"e\"]\n",
      "dense.toml", {8}, 3));
  EXPECT_THAT([&] { TornChain chain(dense); },
              testing::ThrowsMessage<UserError>(
                  AllOf(HasSubstr("where one tensor crosses"),
                        HasSubstr("before 'b' the input and 'a' cross"), Not(HasSubstr("\n")))));
  const plan::Network bare = chain_with({16, 16, 16});
  EXPECT_THAT([&] { TornChain chain(bare); },
              testing::ThrowsMessage<UserError>(
                  AllOf(HasSubstr("layers"), HasSubstr("`model`"), Not(HasSubstr("\n")))));
}

/// Seconds of the slowest piece, counted anew.
double slowest(const TornChain& chain, const cost::CostModel& cost, const TearOptions& options,
               const std::vector<int>& first) {
  double most = 0;
  for (std::size_t j = 0; j < first.size(); ++j) {
    const int end = j + 1 < first.size() ? first[j + 1] : chain.head();
    double sum = 0;
    for (int b = first[j]; b < end; ++b) sum += total(cost.block(b, options.samples));
    if (j > 0) {
      const tensor::Shape& image = chain.network().input;
      const graph::BlockSpec enter = enter_block("p.enter", image, chain.shape(first[j]));
      const plan::Network added = added_network(enter, image);
      for (int b = 0; b < added.size(); ++b) sum += total(cost.added(added, b, options.samples));
    }
    if (end == chain.head() && options.overlapped) {
      for (int b = end; b < chain.network().size(); ++b) {
        sum += total(cost.block(b, options.samples));
      }
    }
    most = std::max(most, sum);
  }
  return most;
}

bool fits(const TornChain& chain, CoarseKind kind, const std::vector<int>& first) {
  for (std::size_t j = 1; j < first.size(); ++j) {
    const int end = j + 1 < first.size() ? first[j + 1] : chain.head();
    if (!coarse_fits(kind, chain.shape(first[j]), chain.shape(end))) return false;
  }
  return true;
}

/// The least slowest piece of all ways to tear; infinity: there is none.
double brute_force(const TornChain& chain, const cost::CostModel& cost,
                   const TearOptions& options) {
  const std::vector<int> places = chain.places();
  double best = std::numeric_limits<double>::infinity();
  for (unsigned chosen = 0; chosen < 1U << places.size(); ++chosen) {
    std::vector<int> first{0};
    for (std::size_t i = 0; i < places.size(); ++i) {
      if ((chosen >> i & 1U) != 0) first.push_back(places[i]);
    }
    if (static_cast<int>(first.size()) != options.pieces) continue;
    if (fits(chain, options.coarse, first)) {
      best = std::min(best, slowest(chain, cost, options, first));
    }
  }
  return best;
}

TEST(PararealTear, HasTheLeastSlowestPiece) {
  Rng rng(7, Purpose::test);
  const auto seconds = [&](float most) {
    return cost::BlockSeconds{rng.uniform(0.1F, most), rng.uniform(0.1F, most),
                              rng.uniform(0.1F, most), 0};
  };
  int torn = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::int64_t> widths{8};
    for (int b = 0; b < 8; ++b) widths.push_back(rng.below(3) == 0 ? 16 : 8);
    const plan::Network network = flat_network(widths);
    std::vector<cost::BlockSeconds> blocks;
    for (int b = 0; b < network.size(); ++b) blocks.push_back(seconds(4));
    const TornCost cost(blocks, seconds(1), seconds(1));
    const TornChain chain(network);
    for (int pieces = 1; pieces <= 8; ++pieces) {
      for (const CoarseKind kind : coarse_kinds()) {
        const TearOptions options{
            .pieces = pieces, .coarse = kind, .samples = 3, .overlapped = round % 2 == 1};
        const double best = brute_force(chain, cost, options);
        SCOPED_TRACE(fmt::format("round {}, {} pieces, {}", round, pieces, name_of(kind)));
        if (!std::isfinite(best)) {
          EXPECT_THROW(tear(chain, cost, options), UserError);
          continue;
        }
        ++torn;
        const Tearing tearing = tear(chain, cost, options);
        EXPECT_EQ(tearing.pieces(), pieces);
        EXPECT_EQ(tearing.head, chain.head());
        EXPECT_EQ(tearing.coarse, kind);
        EXPECT_EQ(tearing.first.front(), 0);
        EXPECT_TRUE(std::ranges::is_sorted(tearing.first));
        EXPECT_TRUE(fits(chain, kind, tearing.first));
        EXPECT_NEAR(slowest(chain, cost, options, tearing.first), best, 1e-9 * best);
      }
    }
  }
  EXPECT_GT(torn, 500);
}

TEST(PararealTear, TooManyPiecesNamesHowManyWork) {
  for (const std::string& name : {kDeep, std::string("lenet"), std::string("resnet20")}) {
    const plan::Network network = network_of(name);
    const std::string message = tear_refusal(network, 99, CoarseKind::block);
    EXPECT_THAT(message, AllOf(HasSubstr("`pieces` 99"), HasSubstr(name), Not(HasSubstr("\n"))));
    const int most = last_number(message, "use `pieces`");
    ASSERT_GE(most, 2) << message;
    EXPECT_TRUE(can_tear(network, most, CoarseKind::block)) << message;
    EXPECT_THAT(tear_refusal(network, most + 1, CoarseKind::block),
                HasSubstr(fmt::format("can be torn into {} at most", most)));
  }
  EXPECT_THAT(tear_refusal(network_of(kDeep), 0, CoarseKind::block), HasSubstr("at least 1"));
}

/// A refused kind names a number of pieces that works, and none where none does; never itself.
void expect_a_way_out(const plan::Network& network, int pieces, CoarseKind kind) {
  const std::string message = tear_refusal(network, pieces, kind);
  if (message == "no UserError") return;
  SCOPED_TRACE(message);
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  bool any = false;
  for (int n = 2; n <= network.size(); ++n) any = any || can_tear(network, n, kind);
  const int named = last_number(message, "use `pieces`");
  EXPECT_EQ(named > 0, any);
  if (named > 0) {
    EXPECT_TRUE(can_tear(network, named, kind));
  }
  if (kind == CoarseKind::block) {
    EXPECT_THAT(message, Not(HasSubstr("use `coarse` block")));
  }
}

TEST(PararealTear, AKindThatDoesNotFitNamesWhatDoes) {
  for (const char* name : {"lenet", "vgg11", "resnet20", "mlp:32-32-32", "mlp:32-16-16-32-32"}) {
    const plan::Network network = network_of(name);
    for (int pieces = 2; pieces <= 8; ++pieces) {
      for (const CoarseKind kind : coarse_kinds()) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, name_of(kind), pieces));
        expect_a_way_out(network, pieces, kind);
      }
    }
  }
  EXPECT_THAT(tear_refusal(network_of("resnet20"), 6, CoarseKind::identity),
              AllOf(HasSubstr("`coarse` identity"), HasSubstr("one shape")));
}

TEST(PararealTear, ATensorMayGrow) {
  const plan::Network network = growing_network();
  EXPECT_TRUE(can_tear(network, 3, CoarseKind::block));
  EXPECT_TRUE(can_tear(network, 3, CoarseKind::conv));
  expect_a_way_out(network, 3, CoarseKind::identity);
}

TEST(PararealNames, GiveBackTheTearing) {
  int found = 0;
  for (const std::string& name :
       {kDeep, std::string("lenet"), std::string("vgg11"), std::string("resnet20")}) {
    const plan::Network network = network_of(name);
    const TornChain chain(network);
    const auto cost = cost::make_analytic_cost(network);
    for (const CoarseKind kind : coarse_kinds()) {
      for (const int pieces : {2, 3, 6}) {
        if (!can_tear(network, pieces, kind)) continue;
        const Tearing tearing = tear(chain, *cost, {.pieces = pieces, .coarse = kind});
        const bool has_state = name.starts_with("vgg") || name.starts_with("resnet");
        for (const int sweeps : std::set<int>{1, 2, std::max(2, pieces - 1), pieces}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", name, name_of(kind), pieces, sweeps));
          const plan::Network torn = tear_network(chain, tearing, sweeps).network;
          const auto read = tearing_of(chain, weight_names(torn));
          ASSERT_TRUE(read);
          EXPECT_EQ(read->first, tearing.first);
          EXPECT_EQ(read->head, tearing.head);
          EXPECT_EQ(read->coarse, kind);
          EXPECT_EQ(read->sweeps, has_state && sweeps < pieces ? sweeps : 1);
          ++found;
          // the network of the weights has them all
          EXPECT_THAT(weight_names(network_of_weights(network, weight_names(torn), sweeps)),
                      testing::UnorderedElementsAreArray(weight_names(torn)));
        }
      }
    }
  }
  EXPECT_GE(found, 40);
}

TEST(PararealNames, OfTheModelAloneAreNotTorn) {
  const plan::Network network = network_of("resnet20");
  EXPECT_FALSE(tearing_of(TornChain(network), weight_names(network)));
  EXPECT_FALSE(tearing_of(TornChain(network), {}));
  EXPECT_EQ(plan::network_hash(network_of_weights(network, weight_names(network), 1)),
            plan::network_hash(network));
  EXPECT_THAT([&] { network_of_weights(network, weight_names(network), 2); },
              testing::ThrowsMessage<UserError>(HasSubstr("`sweeps` 2")));
}

TEST(PararealNames, SweepsBeyondThePiecesAreRefused) {
  const plan::Network network = network_of(kDeep);
  const TornChain chain(network);
  const Tearing tearing = tear(chain, *cost::make_analytic_cost(network), {.pieces = 3});
  const std::vector<std::string> names = weight_names(tear_network(chain, tearing, 1).network);
  EXPECT_NO_THROW(network_of_weights(network, names, 3));
  for (const int sweeps : {0, 4}) {
    EXPECT_THAT([&] { network_of_weights(network, names, sweeps); },
                testing::ThrowsMessage<UserError>(
                    AllOf(HasSubstr(fmt::format("`sweeps` {}", sweeps)), HasSubstr("1 to 3"))));
  }
}

TEST(PararealBorders, KnowWhetherTheyAreRectified) {
  const auto rectified = [](const std::string& model, const tensor::Shape& input,
                            const char* block) {
    const plan::Network network = plan::make_network(graph::load_model(model, input, 10));
    for (int b = 0; b < network.size(); ++b) {
      if (network.blocks[static_cast<std::size_t>(b)].spec.name == block) {
        return TornChain(network).is_rectified(b);
      }
    }
    ADD_FAILURE() << "no block " << block;
    return false;
  };
  EXPECT_TRUE(rectified("vgg11", {3, 32, 32}, "conv2_1"));      // behind pool1
  EXPECT_TRUE(rectified("resnet20", {3, 32, 32}, "layer2.0"));  // add, then ReLU
  EXPECT_FALSE(rectified("preresnet20", {3, 32, 32}, "layer2.0"));
  EXPECT_FALSE(rectified("lenet", {1, 28, 28}, "conv2"));
  EXPECT_TRUE(rectified("mlp:32-32", {1, 28, 28}, "fc2"));
}

}  // namespace
}  // namespace plait::strategy
