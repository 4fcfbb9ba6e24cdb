// Model files whose blocks read named blocks: what is read, what is refused, and the way back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/model_file.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kStem =
    "[[block]]\nname = \"stem\"\nlayers = [{type = \"convolution\", out = 8, kernel = 3, "
    "padding = 1}]\n";
const std::string kWide =
    "[[block]]\nname = \"wide\"\nlayers = [{type = \"convolution\", out = 12, kernel = 1}]\n";
const std::string kGraphHead =
    "[[block]]\nname = \"fc\"\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = "
    "\"classes\"}]\n";

ModelSpec parse_graph(const std::string& text) {
  return parse_model(text, "net.toml", {3, 8, 8}, 10);
}

std::string graph_refusal(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

std::string joined(const std::string& inputs, const std::string& layers) {
  return kStem + kWide + "[[block]]\nname = \"join\"\ninputs = " + inputs + "\nlayers = [" +
         layers + "]\n" + kGraphHead;
}

TEST(ModelGraph, ABlockReadsWhatItNames) {
  const ModelSpec model = parse_graph(joined(R"(["wide", "stem"])", R"({type = "concat"})"));
  EXPECT_THAT(inputs_of(model, 0), ElementsAre(kModelInput));
  EXPECT_THAT(inputs_of(model, 1), ElementsAre(0));
  EXPECT_THAT(inputs_of(model, 2), ElementsAre(1, 0));
  EXPECT_THAT(model.blocks[2].nodes[0].inputs, ElementsAre(block_input(0), block_input(1)));
  EXPECT_EQ(border_shapes(model)[3], (tensor::Shape{20, 8, 8}));
  EXPECT_FALSE(is_chain(model));
  EXPECT_TRUE(is_chain(parse_graph(kStem + kWide + kGraphHead)));
}

TEST(ModelGraph, LayersNameTheInputsOfTheirBlock) {
  const ModelSpec model = parse_graph(
      joined(
          R"(["input", "wide"])",
          R"({type = "convolution", out = 12, kernel = 1, from = "input"}, {type = "add", from = ["conv", "wide"]})") +
      "");
  const std::vector<Node>& nodes = model.blocks[2].nodes;
  EXPECT_THAT(nodes[0].inputs, ElementsAre(block_input(0)));
  EXPECT_THAT(nodes[1].inputs, ElementsAre(0, block_input(1)));
}

TEST(ModelGraph, IsWrittenAsItIsRead) {
  for (const std::string& text :
       {joined(R"(["wide", "stem"])", R"({type = "concat"})"),
        joined(R"(["stem", "wide"])",
               R"({type = "concat", from = ["wide", "stem"]}, {type = "relu"})"),
        joined(R"(["input", "wide"])", R"({type = "concat"})")}) {
    const ModelSpec model = parse_graph(text);
    EXPECT_EQ(parse_model(write_model(model), "again.toml", {3, 8, 8}, 10), model) << text;
  }
}

TEST(ModelGraph, ARepeatedBlockReadsItsInputOnce) {
  const ModelSpec model = parse_graph(
      kStem + kWide +
      "[[block]]\nname = \"more\"\nrepeat = 3\ninputs = [\"stem\"]\nlayers = [{type = "
      "\"relu\"}]\n[[block]]\nname = \"join\"\ninputs = [\"more.2\", \"wide\"]\nlayers = "
      "[{type = \"concat\"}]\n" +
      kGraphHead);
  EXPECT_THAT(inputs_of(model, 2), ElementsAre(0));
  EXPECT_THAT(inputs_of(model, 3), ElementsAre(2));
  EXPECT_THAT(inputs_of(model, 5), ElementsAre(4, 1));
}

TEST(ModelGraph, RefusesInOneLine) {
  const std::string concat = R"({type = "concat"})";
  EXPECT_THAT(graph_refusal(joined(R"(["wide", "stme"])", concat)),
              HasSubstr("inputs: 'stme' is neither an earlier block nor 'input' (did you mean "
                        "'stem'?)"));
  EXPECT_THAT(graph_refusal(joined(R"(["wide", "fc"])", concat)),
              HasSubstr("'fc' is a later block; a block reads earlier blocks only"));
  EXPECT_THAT(graph_refusal(joined(R"(["join", "wide"])", concat)),
              HasSubstr("'join' is the block itself"));
  EXPECT_THAT(graph_refusal("[[block]]\nname = \"input\"\nlayers = [{type = \"relu\"}]\n" +
                            joined(R"(["input", "wide"])", concat)),
              HasSubstr("'input' names the network's input; rename the block 'input'"));
  EXPECT_THAT(graph_refusal(joined("[]", concat)), HasSubstr("inputs is empty"));
  EXPECT_THAT(graph_refusal(joined("[3]", concat)), HasSubstr("inputs must be a text in quotes"));
  EXPECT_THAT(graph_refusal(joined(R"(["wide", "wide"])", concat)),
              HasSubstr("names 'wide' twice"));
  EXPECT_THAT(graph_refusal(joined(R"(["wide"])", concat)), HasSubstr("concat takes 2 or more"));
  EXPECT_THAT(graph_refusal(joined(R"(["wide", "stem"])", R"({type = "add"})")),
              HasSubstr("add needs two inputs of equal shape but has 12x8x8 and 8x8x8"));
  EXPECT_THAT(graph_refusal(joined(R"(["wide", "stem"])", R"({type = "relu"})")),
              HasSubstr("relu takes 1 input(s) but has 2"));
  EXPECT_THAT(graph_refusal(joined(R"(["wide", "stem"])", R"({type = "relu", from = "wide"})")),
              HasSubstr("no layer reads its input number 2"));
  EXPECT_THAT(graph_refusal(joined(R"(["wide", "stem"])", R"({type = "relu", from = "input"})")),
              HasSubstr("from = 'input' is neither an earlier layer of the block nor one of its "
                        "inputs"));
  EXPECT_THAT(graph_refusal(joined(R"(["stem"])", R"({type = "relu"})")),
              HasSubstr("nothing reads the output of block 'wide'"));
}

TEST(ModelGraph, ReadsAnInputFarBehind) {
  const ModelSpec model =
      parse_graph(joined(R"(["input", "stem", "wide"])", R"({type = "concat"})"));
  EXPECT_EQ(border_shapes(model)[3], (tensor::Shape{23, 8, 8}));
}

TEST(ModelGraph, ARepeatedBlockIsNamedWithItsNumber) {
  const auto repeated = [](const std::string& inputs) {
    return "[[block]]\nname = \"r\"\nrepeat = 3\nlayers = [{type = \"relu\"}]\n[[block]]\nname = "
           "\"join\"\ninputs = [" +
           inputs + "]\nlayers = [{type = \"add\"}]\n" + kGraphHead;
  };
  EXPECT_EQ(graph_refusal(repeated(R"("r.2", "r.0")")), "no error");
  EXPECT_THAT(graph_refusal(repeated(R"("r", "input")")),
              HasSubstr("net.toml:7: block 'join': inputs: 'r' is repeated, its blocks are r.0 to "
                        "r.2; write \"r.2\" for the last one"));
}

/// Their names are input.0 and input.1.
TEST(ModelGraph, ARepeatedBlockMayBeCalledInput) {
  const ModelSpec model = parse_graph(
      "[[block]]\nname = \"input\"\nrepeat = 2\nlayers = [{type = \"relu\"}]\n[[block]]\nname = "
      "\"join\"\ninputs = [\"input.1\", \"input\"]\nlayers = [{type = \"add\"}]\n" +
      kGraphHead);
  EXPECT_THAT(inputs_of(model, 2), ElementsAre(1, kModelInput));
}

TEST(ModelGraph, FactorsInFrontOfTheirImageAreToldTheOrder) {
  const auto gate = [](const std::string& inputs, const std::string& layer) {
    return kStem +
           "[[block]]\nname = \"gate\"\nlayers = [{type = \"global_average_pool\"}, {type = "
           "\"convolution\", out = 8, kernel = 1}]\n[[block]]\nname = \"join\"\ninputs = [" +
           inputs + "]\nlayers = [" + layer + "]\n" + kGraphHead;
  };
  EXPECT_EQ(graph_refusal(gate(R"("stem", "gate")", R"({type = "multiply"})")), "no error");
  EXPECT_THAT(
      graph_refusal(gate(R"("gate", "stem")", R"({type = "multiply"})")),
      HasSubstr("block 'join', layer 'multiply': multiply has 8x1x1 and 8x8x8, in the wrong "
                "order: the image comes first, its factors second; write inputs = "
                "[\"stem\", \"gate\"]"));
  EXPECT_THAT(
      graph_refusal(
          gate(R"("gate", "stem")",
               R"({type = "relu", from = "stem"}, {type = "multiply", from = ["gate", "relu"]})")),
      HasSubstr("write from = [\"relu\", \"gate\"]"));
}

TEST(ModelGraph, ShapesThatDoNotFitSayWhatHelps) {
  const auto alone = [](const std::string& layers, const tensor::Shape& input) -> std::string {
    try {
      parse_model("[[block]]\nname = \"b\"\nlayers = [" + layers + "]\n", "net.toml", input, 10);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(alone(R"({type = "convolution", out = 8, kernel = 5})", {3, 4, 4}),
              HasSubstr("block 'b', layer 'conv': a kernel that spans 5x5 does not fit its input "
                        "3x4x4 with padding 0x0; a larger padding helps"));
  EXPECT_THAT(alone(R"({type = "add"})", {3, 4, 4}),
              HasSubstr("add takes 2 input(s) but has 1; name them in 'from'"));
  EXPECT_THAT(alone(R"({type = "add", from = ["input", "input", "input"]})", {3, 4, 4}),
              HasSubstr("add takes 2 input(s) but has 3; combine two of them first"));
  EXPECT_THAT(alone(R"({type = "relu", from = ["input", "input"]})", {3, 4, 4}),
              HasSubstr("relu takes 1 input(s) but has 2; join them first, with concat or add"));
  EXPECT_THAT(alone(R"({type = "convolution", out = 8, kernel = 3})", {3, 9}),
              HasSubstr("use convolution_1d"));
  EXPECT_THAT(alone(R"({type = "convolution_1d", out = 8, kernel = 3})", {1, 3, 9}),
              HasSubstr("needs a sequence CxL but its input is 1x3x9; write input = [C, L]"));
  EXPECT_THAT(
      alone(R"({type = "convolution", out = 8, kernel = 1}, {type = "add", from = )"
            R"(["input", "conv"]})",
            {3, 4, 4}),
      HasSubstr("add needs two inputs of equal shape but has 3x4x4 and 8x4x4; a convolution "
                "with kernel = 1 and out = 8 in front of the first one helps"));
}

}  // namespace
}  // namespace plait::graph
