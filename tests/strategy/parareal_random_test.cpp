// Random small networks, torn: coarse parts fit all shapes that tensors between blocks have, and
// every refusal names settings that work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "strategy/parareal_testing.hpp"
#include "strategy/random_models.hpp"

namespace plait::strategy {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kNetworks = 300;

std::string ask(const plan::Network& network, int workers, const TearRequest& tear) {
  const plan::Machine machine = one_node(workers);
  return refusal("parareal", {.network = network, .machine = machine, .batch = 16, .tear = tear});
}

bool has_two_blocks_before_its_head(const plan::Network& network) {
  return !TornChain(network).borders().empty();
}

TEST(PararealRandom, EveryNetworkWithTwoBlocksBeforeItsHeadIsTorn) {
  RandomModels models(1);
  int torn = 0;
  for (int i = 0; i < kNetworks; ++i) {
    const plan::Network network = plan::make_network(models.next());
    SCOPED_TRACE(fmt::format("network {} of input {}", i, network.input));
    for (const CoarseKind kind : {CoarseKind::block, CoarseKind::conv}) {
      const std::string message = ask(network, 2, {.pieces = 2, .coarse = kind});
      if (has_two_blocks_before_its_head(network)) {
        EXPECT_EQ(message, "no UserError");
        torn += kind == CoarseKind::block;
      } else {
        EXPECT_THAT(message, AllOf(HasSubstr("every piece needs a block before the head"),
                                   HasSubstr("use another strategy"), Not(HasSubstr("\n"))));
      }
    }
  }
  RecordProperty("torn", torn);
  EXPECT_GE(torn, 250);
}

/// The settings that a refusal advises, as what it would be asked for next.
struct Advised {
  int workers = 0;
  TearRequest tear{};
};

std::vector<Advised> advised(const std::string& message, int workers, const TearRequest& tear) {
  const std::size_t use = message.rfind("; use ");
  std::vector<Advised> ways;
  if (use == std::string::npos || message.find("another strategy", use) != std::string::npos) {
    return ways;
  }
  std::string rest = message.substr(use + 6);
  for (std::size_t at = 0; at != std::string::npos;) {
    at = rest.find(" or ");
    const std::string one = rest.substr(0, at);
    if (at != std::string::npos) rest = rest.substr(at + 4);
    Advised way{workers, tear};
    const std::regex setting("`([a-z]+)` ([0-9]+)");
    for (auto it = std::sregex_iterator(one.begin(), one.end(), setting);
         it != std::sregex_iterator(); ++it) {
      const int number = std::stoi((*it)[2]);
      const std::string name = (*it)[1];
      if (name == "workers") way.workers = number;
      if (name == "pieces") way.tear.pieces = number;
      if (name == "replicas") way.tear.replicas = number;
      if (name == "sweeps") way.tear.sweeps = number;
    }
    ways.push_back(way);
  }
  return ways;
}

/// Asks, and asks again what was advised. Returns whether anything was refused.
bool expect_advice_that_works(const plan::Network& network, int workers, const TearRequest& tear) {
  const std::string message = ask(network, workers, tear);
  if (message == "no UserError") return false;
  SCOPED_TRACE(fmt::format("{} workers, pieces {}, replicas {}, sweeps {}: {}", workers,
                           tear.pieces, tear.replicas, tear.sweeps, message));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  const std::vector<Advised> ways = advised(message, workers, tear);
  EXPECT_TRUE(!ways.empty() || message.find("use another strategy") != std::string::npos);
  for (const Advised& way : ways) EXPECT_EQ(ask(network, way.workers, way.tear), "no UserError");
  return true;
}

TEST(PararealAdvice, NamesSettingsThatWork) {
  RandomModels models(2);
  std::vector<plan::Network> networks{network_of("lenet"), network_of("resnet20"),
                                      network_of("mlp:32-32-32"),
                                      network_of("mlp:32-32-32-32-32-32")};
  for (int i = 0; i < 4; ++i) networks.push_back(plan::make_network(models.next()));
  int refused = 0;
  for (const plan::Network& network : networks) {
    for (const int workers : {1, 2, 3, 4, 5, 8}) {
      for (const int pieces : {0, 2, 3, 5, 9}) {
        for (const int replicas : {0, 2, 3}) {
          for (const int sweeps : {1, 3, 5}) {
            refused += expect_advice_that_works(
                network, workers, {.pieces = pieces, .replicas = replicas, .sweeps = sweeps});
          }
        }
      }
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(PararealAdvice, OfThreeWorkersAndTwoPieces) {
  const plan::Network network =
      network_of("mlp:32-32-32");  // three places: four pieces are possible
  EXPECT_THAT(
      ask(network, 3, {.pieces = 2}),
      AllOf(HasSubstr("`workers` 3 are more than 2 piece(s)"), HasSubstr("use `pieces` 3")));
}

TEST(PararealAdvice, BlamesTheSweepsWhereTheyAskForThePieces) {
  const plan::Network network = network_of("mlp:32-32-32");
  const std::string message = ask(network, 2, {.sweeps = 5});
  EXPECT_THAT(message, AllOf(HasSubstr("`sweeps` 5 need as many pieces"), HasSubstr("`sweeps` 3"),
                             Not(HasSubstr("`pieces` 5"))));
}

TEST(PararealAdvice, OfTheIdentityWhereShapesDiffer) {
  EXPECT_THAT(ask(network_of("resnet20"), 6, {.pieces = 6, .coarse = CoarseKind::identity}),
              AllOf(HasSubstr("`coarse` identity does not fit"), HasSubstr("use `coarse` block")));
}

TEST(PararealRefusal, SaysWhereTensorsCross) {
  const plan::Network network = network_of("mlp:32-24-16");
  EXPECT_THAT(
      ask(network, 2, {.pieces = 7}),
      AllOf(HasSubstr("'fc2' (32)"), HasSubstr("'fc3' (24)"), HasSubstr("before its head")));
  EXPECT_THAT(ask(network_of("linear"), 2, {.pieces = 2}),
              AllOf(HasSubstr("cannot be torn"), Not(HasSubstr("0 place"))));
}

}  // namespace
}  // namespace plait::strategy
