// Plans as documents: what is read back, and what is refused with one line that names the field.
#include "plan/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

#include "base/error.hpp"
#include "plan/hand_made_joins.hpp"
#include "plan/hand_made_rows.hpp"

namespace plait::plan {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<hand_made::Named> plans() {
  std::vector<hand_made::Named> all = hand_made::all_plans();
  all.push_back({"joined", hand_made::joined()});
  all.push_back({"joined_on_two", hand_made::joined_on_two(true)});
  all.push_back({"repeated", hand_made::repeated()});
  all.push_back({"cut_by_rows", hand_made::cut_by_rows()});
  Plan rare = hand_made::data_parallel();
  rare.modes = {"calm", "wild"};
  rare.machine = {.nodes = 2,
                  .workers_per_node = 3,
                  .inside = kUsualInside,
                  .between = kUsualBetween,
                  .memory_per_worker = std::int64_t{1} << 40};
  rare.old_weights = OldWeights::predicted;
  rare.wire_bytes = 2;
  rare.buckets.push_back(
      {.payload = Payload::weights,
       .blocks = {0, 2, 3},
       .merge = {.kind = MergeKind::outer, .steps = 3, .rate = 0.1, .momentum = 1.0 / 3},
       .part = 1,
       .parts = 3,
       .half = true});
  for (Program& program : rare.programs) {
    program.averages = part_of(1, 2);
    for (const Move move : {Move::start, Move::sum, Move::finish}) {
      program.tasks.push_back({.when = {.mode = 1, .at_end = true}, .what = Reduce{move, 0, 3}});
    }
  }
  all.push_back({"rare", rare});
  return all;
}

TEST(PlanJson, ReadsWhatItWrites) {
  for (const hand_made::Named& named : plans()) {
    for (const int indent : {-1, 2}) {
      const std::string text = to_json(named.plan, indent);
      const Plan again = plan_from_json(text, named.name);
      EXPECT_TRUE(again == named.plan) << named.name;
      EXPECT_EQ(to_json(again, indent), text) << named.name;
    }
  }
}

TEST(PlanJson, BeginsWithItsVersion) {
  EXPECT_THAT(to_json(hand_made::serial()), StartsWith(R"({"plait_plan":8,)"));
}

/// What follows from a plan is for readers with eyes.
TEST(PlanJson, WhatFollowsIsNotRead) {
  const Plan plan = hand_made::data_parallel();
  Json json = Json::parse(to_json(plan));
  json.erase("depth");
  json["buckets"][0]["bytes"] = "many";
  json["workers"][0].erase("memory_bytes");
  json["workers"][1]["node"] = -7;
  json["network"]["blocks"][0]["staleness"] = nullptr;
  json["something_new"] = {1, 2, 3};
  EXPECT_TRUE(plan_from_json(json.dump(), "p") == plan);
}

std::string refusal(const std::string& text) {
  try {
    plan_from_json(text, "dir/plan.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(PlanJson, RefusesWhatIsNoPlan) {
  const std::string good = to_json(hand_made::serial());
  EXPECT_EQ(refusal(""), "dir/plan.json: no JSON at byte 1");
  EXPECT_EQ(refusal(good.substr(0, 100)), "dir/plan.json: no JSON at byte 101");
  EXPECT_THAT(refusal(good + "x"), HasSubstr("dir/plan.json: no JSON at byte"));
  EXPECT_EQ(refusal("[1e999]"), "dir/plan.json: a number in it is too large for any use");
  EXPECT_EQ(refusal("[1]"), "dir/plan.json: no plan of plait (it has no 'plait_plan')");
  EXPECT_EQ(refusal("{}"), "dir/plan.json: no plan of plait (it has no 'plait_plan')");
  EXPECT_EQ(refusal(R"({"name": "some other tool's"})"),
            "dir/plan.json: no plan of plait (it has no 'plait_plan')");
  EXPECT_EQ(refusal(R"({"plait_plan": 2})"),
            "dir/plan.json: plait_plan is 2, and this plait reads version 8: plan again");
  EXPECT_THAT(refusal(R"({"plait_plan": "1"})"), HasSubstr("plait_plan must be a whole number"));
  EXPECT_EQ(refusal(R"({"plait_plan": 8})"), "dir/plan.json: strategy is missing");
}

/// Every field that is taken away, and every one that becomes something else, is a UserError or
/// gives another plan, never a crash.
TEST(PlanJson, RefusesEveryDamage) {
  for (const hand_made::Named& named : plans()) {
    const Json good = Json::parse(to_json(named.plan));
    const Json flat = good.flatten();
    int refused = 0;
    for (const auto& [pointer, value] : flat.items()) {
      for (const Json& wrong : {Json(nullptr), Json("text"), Json(-1), Json(1e300), Json::array(),
                                Json(INT64_MAX), Json(true)}) {
        Json bad = good;
        bad[Json::json_pointer(pointer)] = wrong;
        const std::string said = refusal(bad.dump());
        refused += said != "it was read" ? 1 : 0;
        ASSERT_THAT(said, Not(HasSubstr("\n")));
      }
    }
    EXPECT_GT(refused, static_cast<int>(flat.size())) << named.name;
  }
}

struct BadValue {
  std::string name;
  std::string pointer;
  Json value;
  std::string says;
};

void PrintTo(const BadValue& damage, std::ostream* out) { *out << damage.name; }

class PlanJsonDamage : public ::testing::TestWithParam<BadValue> {};

TEST_P(PlanJsonDamage, IsNamed) {
  Json json = Json::parse(to_json(hand_made::data_parallel()));
  json[Json::json_pointer(GetParam().pointer)] = GetParam().value;
  EXPECT_THAT(refusal(json.dump()), StartsWith("dir/plan.json: " + GetParam().says));
}

const BadValue kDamages[] = {
    {"AText", "/batch", "many",
     R"(batch must be a whole number from 1 to 1073741824, and is "many")"},
    {"AFraction", "/batch", 1.5, "batch must be a whole number from 1 to 1073741824, and is 1.5"},
    {"NoSamples", "/batch", 0, "batch must be a whole number from 1 to 1073741824, and is 0"},
    {"AnObject", "/modes", Json::object(), "modes must be a list, and is an object"},
    {"AWord", "/workers/1/tasks/3/kind", "dance",
     "workers[1].tasks[3].kind is 'dance', which is not known; there are: load, forward, loss, "
     "backward_data, backward_weights, add_gradient, clip, update, send, receive, reduce_start, "
     "reduce_sum, reduce_finish"},
    {"ANumberForAFlag", "/workers/0/tasks/2/moves_state", 1,
     "workers[0].tasks[2].moves_state must be true or false, and is 1"},
    {"NoPart",
     "/workers/0/tasks/2/samples",
     {1, 1, 2},
     "workers[0].tasks[2].samples must be [begin, end, of], a part of a minibatch"},
    {"ATensorThatIsNotThere", "/network/blocks/2/srcs/0", 9,
     "network.blocks[2].srcs[0] must be a whole number from 0 to 4, and is 9"},
    {"ALaterBlock", "/network/blocks/2/weights_of", 2,
     "network.blocks[2].weights_of must be a whole number from -1 to 1, and is 2"},
    {"AnotherNetwork", "/network/blocks/2/name", "norm", "network.hash is "},
    {"AnotherInput", "/network/input", {1, 8, 9}, "network.input is another size than tensor 0"},
    {"TooManyWorkers", "/machine/nodes", 1 << 20,
     "machine has 1048576 nodes x 2 workers, more than 1048576"},
    {"NegativeTime", "/machine/inside/latency_seconds", -1,
     "machine.inside.latency_seconds must be a number from 0 to 1e+30, and is -1"},
    {"NoSuchBlock", "/workers/0/tasks/1/block", 7,
     "worker 0, task 1 (forward of block 7, part 1 of 2): there is no block 7, only 4"},
    {"AFault", "/workers/0/tasks/1/block", 1,
     "worker 0, task 2 (forward of pool, part 1 of 2): writes tensor 2, which forward of pool"},
};

INSTANTIATE_TEST_SUITE_P(All, PlanJsonDamage, ::testing::ValuesIn(kDamages),
                         [](const auto& test) { return test.param.name; });

TEST(PlanJson, RefusesSizesThatNobodyCanCount) {
  Plan plan = hand_made::data_parallel();
  plan.network.blocks[0].inner_elements = std::int64_t{1} << 42;
  EXPECT_THAT(refusal(to_json(plan)), HasSubstr("network.blocks[0].inner_elements must be"));
  plan.network.blocks[0].inner_elements = std::int64_t{1} << 40;
  plan.batch = 32;
  EXPECT_THAT(refusal(to_json(plan)), HasSubstr("batch is 32: too many samples of 10995116"));
}

/// Layers that use the weights of others say so twice: by the block, and by the layer.
TEST(PlanJson, ChecksTiedLayers) {
  graph::BlockSpec first{.name = "a", .nodes = {}};
  first.then("flatten", ops::Flatten{});
  first.then("linear", ops::Linear{.out_features = 64});
  graph::BlockSpec second{.name = "b", .nodes = {}};
  second.then("linear", ops::Linear{.out_features = 64});
  second.nodes[0].weights = "a.linear";
  graph::BlockSpec third{.name = "c", .nodes = {}};
  third.then("linear", ops::Linear{.out_features = 5});
  const graph::ModelSpec model{.name = "net", .input = {1, 8, 8}, .blocks = {first, second, third}};
  Plan plan = hand_made::serial();
  plan.network = make_network(model);
  ASSERT_EQ(plan.network.blocks[2].weights_of, 1);
  ASSERT_EQ(plan.network.parameters(), 64 * 65 + 5 * 65);
  plan.programs[0] = {};
  hand_made::Writer write(plan.programs[0]);
  write.task(TaskKind::load).forward(0, 3).task(TaskKind::loss).backward(plan.network, 3, 0);
  plan.programs[0].tasks.push_back({.what = AddGradient{2}});
  write.update(plan.network, 0, 1).update(plan.network, 3, 3);
  const Json good = Json::parse(to_json(plan));
  EXPECT_TRUE(plan_from_json(good.dump(), "p", model) == plan);
  const auto says = [&](const std::string& pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer("/network/blocks/" + pointer)] = value;
    return refusal(bad.dump());
  };
  EXPECT_THAT(says("2/weights_of", -1),
              HasSubstr("blocks[2] uses the weights of no other block, and its layers those of "
                        "'a.linear'"));
  EXPECT_THAT(says("2/weights_of", 0),
              HasSubstr("blocks[2] uses the weights of a.flatten, and its layers those of"));
  EXPECT_THAT(says("2/layers/0/weights", ""),
              HasSubstr("blocks[2] uses the weights of a.linear, and its layers those of ''"));
  EXPECT_THAT(says("2/layers/0/weights", 7), HasSubstr("layers[0].weights"));
  EXPECT_THAT(says("3/layers/0/weights", "a.linear"),
              HasSubstr("blocks[3] uses the weights of no"));
  Json other = good;
  other["/network/blocks/3/layers/0/weights"_json_pointer] = "a.linear";
  other["/network/blocks/3/weights_of"_json_pointer] = 1;
  EXPECT_THAT(refusal(other.dump()), HasSubstr("blocks[3] uses the weights of a.linear, which have "
                                               "other shapes"));
}

/// A network with layers: they must fit, and be as many parameters as the plan says.
TEST(PlanJson, ChecksLayers) {
  Plan plan = hand_made::serial();
  graph::BlockSpec first{.name = "a", .nodes = {}};
  first.then("flatten", ops::Flatten{});
  first.then("linear", ops::Linear{.out_features = 12});
  graph::BlockSpec second{.name = "b", .nodes = {}};
  second.then("bn", ops::BatchNorm{});
  second.then("relu", ops::Activation{ops::ActivationKind::relu});
  second.then("linear", ops::Linear{.out_features = 5, .bias = false});
  const graph::ModelSpec model{.name = "net", .input = {1, 8, 8}, .blocks = {first, second}};
  plan.network = make_network(model);
  const int last = plan.network.size() - 1;
  plan.programs[0] = {};
  hand_made::Writer write(plan.programs[0]);
  write.task(TaskKind::load).forward(0, last).task(TaskKind::loss);
  write.backward(plan.network, last, 0);
  write.update(plan.network, 0, last);
  const Json good = Json::parse(to_json(plan));
  EXPECT_TRUE(plan_from_json(good.dump(), "p") == plan);
  const auto says = [&](const std::string& pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer("/network/blocks/" + pointer)] = value;
    return refusal(bad.dump());
  };
  EXPECT_THAT(says("1/parameters", 700),
              HasSubstr("network.blocks[1] has 700 parameters and 0 of state, but its layers 780"));
  EXPECT_THAT(says("1/layers/0/out", 13),
              HasSubstr("network.blocks[1] gives 13, but tensor 2 has 12 elements"));
  EXPECT_THAT(
      says("2/layers/1/inputs", {1}),
      HasSubstr("network.blocks[2].layers[1].inputs[0] must be a whole number from -1 to 0"));
  EXPECT_THAT(says("2/layers/1/inputs", Json::array()), HasSubstr("inputs is empty"));
  EXPECT_THAT(says("2/layers/1/inputs", {-1}), HasSubstr("nothing reads the output of layer"));
  Json two = good["/network/blocks/2/layers"_json_pointer];
  two.push_back({{"type", "relu"}, {"name", "again"}, {"inputs", {1}}});
  EXPECT_THAT(says("2/layers", two), HasSubstr("blocks[2]"));
  EXPECT_THAT(says("2/layers", two), HasSubstr("they are not computed together"));
  EXPECT_THAT(says("3/layers/0/type", "magic"), HasSubstr("layers[0].type is no layer"));
  EXPECT_THAT(says("3/layers/0/initial_scale", 2.0), HasSubstr("network.hash is "));
  EXPECT_THAT(says("3/srcs/0", 4), HasSubstr("reads tensor 4, which no block before it writes"));

  EXPECT_TRUE(plan_from_json(good.dump(), "p", model) == plan);
  const auto refused = [&](const graph::ModelSpec& other) {
    try {
      plan_from_json(good.dump(), "p", other);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  graph::ModelSpec other = model;
  other.blocks[1].name = "c";
  EXPECT_EQ(refused(other), "p: network is not of model 'net': it has no such block 'b.bn'");
  other = model;
  other.input = {8, 8};
  EXPECT_EQ(refused(other),
            "p: network is not of model 'net': its input is 1x8x8, the model's 8x8");
  other = model;
  other.blocks.emplace_back(graph::BlockSpec{.name = "more", .nodes = {}})
      .then("relu", ops::Activation{});
  EXPECT_EQ(refused(other),
            "p: network is not of model 'net': its block 'more' is not among those of the plan");
}

}  // namespace
}  // namespace plait::plan
