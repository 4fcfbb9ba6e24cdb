// Tied weights in model files: which names are understood, what is refused, and the way back.
#include "graph/tied.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/check.hpp"
#include "graph/graph_text.hpp"
#include "graph/model_file.hpp"
#include "graph/model_hash.hpp"
#include "graph/parameters.hpp"
#include "graph/summary.hpp"
#include "graph/zoo.hpp"

namespace plait::graph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// a: one layer with parameters, pair: two, pool: none; then `text`, and a head.
std::string with_blocks(const std::string& text) {
  return R"(
[[block]]
name = "a"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"}]
[[block]]
name = "pair"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}]
[[block]]
name = "pool"
layers = [{type = "max_pool", kernel = 2}]
)" + text +
         R"(
[[block]]
name = "fc"
layers = [{type = "flatten"}, {type = "linear", out = "classes"}]
)";
}

std::string conv_with(const std::string& keys) {
  return with_blocks(
      "[[block]]\nname = \"b\"\nlayers = [{type = \"convolution\", kernel = 3, padding = 1, " +
      keys + "}]\n");
}

ModelSpec parse_tied(const std::string& text) {
  return parse_model(text, "net.toml", {8, 8, 8}, 10);
}

std::string tie_refusal(const std::string& text) {
  try {
    parse_tied(text);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

TEST(TiedWeights, NameALayerOrTheOnlyOneOfABlock) {
  for (const char* name : {"a", "a.conv"}) {
    const ModelSpec model =
        parse_tied(conv_with(std::string("out = 8, weights = \"") + name + "\""));
    EXPECT_EQ(model.blocks[3].nodes[0].weights, "a.conv") << name;
    EXPECT_EQ(parse_model(write_model(model), "net.toml", {}, 10), model);
  }
  EXPECT_EQ(parse_tied(conv_with(R"(out = 8, weights = "pair.conv")")).blocks[3].nodes[0].weights,
            "pair.conv");
  EXPECT_EQ(parse_tied(conv_with("out = 8")).blocks[3].nodes[0].weights, "");
}

TEST(TiedWeights, OfABlockAreThoseOfItsLayersOneByOne) {
  const ModelSpec model = parse_tied(with_blocks(R"(
[[block]]
name = "again"
repeat = 2
weights = "pair"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "relu"}, {type = "batch_norm"}]
)"));
  for (const std::size_t block : {3, 4}) {
    EXPECT_EQ(model.blocks[block].nodes[0].weights, "pair.conv");
    EXPECT_EQ(model.blocks[block].nodes[1].weights, "");
    EXPECT_EQ(model.blocks[block].nodes[2].weights, "pair.bn");
  }
}

TEST(TiedWeights, OfATiedLayerAreThoseOfItsOwner) {
  const ModelSpec model = parse_tied(with_blocks(R"(
[[block]]
name = "b"
weights = "a"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}]
[[block]]
name = "c"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1, weights = "b"},
          {name = "second", type = "convolution", out = 8, kernel = 3, padding = 1, weights = "c.conv1"}]
)"));
  EXPECT_EQ(model.blocks[4].nodes[0].weights, "a.conv");
  EXPECT_EQ(model.blocks[4].nodes[1].weights, "a.conv");
}

TEST(TiedWeights, AreCountedOnceAndShown) {
  const ModelSpec own = parse_tied(conv_with("out = 8"));
  const ModelSpec tied = parse_tied(conv_with(R"(out = 8, weights = "a")"));
  EXPECT_EQ(parameter_count(own) - parameter_count(tied), 8 * 8 * 9 + 8);
  EXPECT_NE(model_hash(own), model_hash(tied));
  EXPECT_THAT(summary(tied), HasSubstr("(weights of a.conv)"));
  EXPECT_THAT(summary(tied), HasSubstr("2,474"));
  EXPECT_THAT(graph_text(tied), HasSubstr("b0 -> b3 [style=dashed"));
  EXPECT_THAT(graph_text(own), Not(HasSubstr("dashed")));
}

TEST(TiedWeights, AreRefusedWhereTheyDoNotFit) {
  EXPECT_THAT(tie_refusal(conv_with(R"(out = 8, weights = "aa")")),
              AllOf(HasSubstr("net.toml:13: block 'b'"),
                    HasSubstr("weights = 'aa' is not an earlier block or layer"),
                    HasSubstr("did you mean")));
  EXPECT_THAT(tie_refusal(conv_with(R"(out = 8, weights = "fc")")),
              HasSubstr("weights = 'fc' is not an earlier block or layer"));
  EXPECT_THAT(tie_refusal(conv_with(R"(out = 8, weights = "fc.linear")")),
              HasSubstr("weights = 'fc.linear' is not an earlier layer"));
  EXPECT_THAT(tie_refusal(conv_with(R"(out = 8, weights = "b.conv")")),
              HasSubstr("weights = 'b.conv' is not an earlier block or layer"));
  EXPECT_THAT(tie_refusal(conv_with(R"(out = 8, weights = "pool")")),
              HasSubstr("weights = 'pool': no layer of that block has parameters"));
  EXPECT_THAT(tie_refusal(conv_with(R"(out = 8, weights = "pair")")),
              HasSubstr("several layers of that block have parameters; name one of pair.conv, "
                        "pair.bn"));
  EXPECT_THAT(
      tie_refusal(conv_with(R"(out = 16, weights = "a")")),
      HasSubstr("weights = 'a': layers 'a.conv' and 'b.conv' cannot share weights, they differ "
                "in weight: 8x8x3x3 and 16x8x3x3"));
  EXPECT_THAT(
      tie_refusal(conv_with(R"(out = 8, bias = false, weights = "a")")),
      HasSubstr(
          "layers 'a.conv' and 'b.conv' cannot share weights, they differ in bias: 8 and none"));
  EXPECT_THAT(
      tie_refusal(conv_with(R"(out = 8, weights = "a.relu")")),
      HasSubstr(
          "layers 'a.relu' and 'b.conv' cannot share weights, they differ in weight: none and"));
  EXPECT_THAT(tie_refusal(conv_with("out = 8, weights = 3")), HasSubstr("weights"));
  EXPECT_THAT(tie_refusal(with_blocks(R"(
[[block]]
name = "b"
layers = [{type = "relu", weights = "a"}]
)")),
              HasSubstr("the layer has no parameters itself"));
  EXPECT_THAT(tie_refusal(with_blocks(R"(
[[block]]
name = "b"
weights = "pair"
layers = [{type = "convolution", out = 8, kernel = 3}]
)")),
              HasSubstr("2 layers of that block have parameters, and 1 of this one"));
}

TEST(TiedWeights, OfABlockAndItsLayerMustBeTheSame) {
  const auto both = [](const std::string& block, const std::string& layer) {
    return with_blocks(
        "[[block]]\nname = \"other\"\nlayers = [{type = \"convolution\", out = 8, "
        "kernel = 3, padding = 1}]\n[[block]]\nname = \"b\"\nweights = \"" +
        block +
        "\"\nlayers = [{type = \"convolution\", out = 8, kernel = 3, padding = 1, "
        "weights = \"" +
        layer + "\"}]\n");
  };
  EXPECT_EQ(parse_tied(both("a", "a.conv")).blocks[4].nodes[0].weights, "a.conv");
  EXPECT_THAT(tie_refusal(both("a", "other")),
              AllOf(HasSubstr("net.toml:16: block 'b': weights = 'a' contradicts layer 'conv' of "
                              "the block, which uses those of 'other.conv'"),
                    HasSubstr("leave one of them away")));
}

/// Of a model that comes from elsewhere.
TEST(TiedWeights, AreCheckedWithTheModel) {
  const ModelSpec good = parse_tied(conv_with(R"(out = 8, weights = "a")"));
  const auto refused = [&](const auto& change) -> std::string {
    ModelSpec model = good;
    change(model);
    try {
      check_model(model, "net");
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(refused([](ModelSpec&) {}), "no error");
  EXPECT_THAT(refused([](ModelSpec& model) { model.blocks[3].nodes[0].weights = "x.y"; }),
              HasSubstr("net: block 'b', layer 'conv': weights = 'x.y' is not an earlier layer"));
  EXPECT_THAT(refused([](ModelSpec& model) { model.blocks[1].nodes[0].weights = "b.conv"; }),
              HasSubstr("that layer itself uses the weights of 'a.conv'"));
  EXPECT_THAT(refused([](ModelSpec& model) { model.blocks[0].nodes[0].weights = "pair.conv"; }),
              HasSubstr("weights = 'pair.conv' is not an earlier layer"));
}

}  // namespace
}  // namespace plait::graph
