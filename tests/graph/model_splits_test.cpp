// Splits in model files: outputs that layers and blocks name, what they become, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/fuse.hpp"
#include "graph/graph_text.hpp"
#include "graph/model_file.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kSplitBlock =
    "[[block]]\nname = \"qkv\"\nlayers = [{type = \"convolution\", out = 12, kernel = 1}, {type = "
    "\"split\", sizes = [4, 2, 6]}]\n";
const std::string kSplitHead =
    "[[block]]\nname = \"fc\"\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = "
    "\"classes\"}]\n";

ModelSpec parse_split(const std::string& text) {
  return parse_model(text, "net.toml", {3, 8, 8}, 10);
}

std::string split_refusal(const std::string& text) {
  try {
    parse_split(text);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

/// A block on these outputs of `qkv`.
std::string reader_of(const std::string& inputs) {
  return kSplitBlock + "[[block]]\nname = \"join\"\ninputs = [" + inputs +
         "]\nlayers = [{type = \"concat\"}]\n" + kSplitHead;
}

TEST(ModelSplits, OutputsOfABlockBecomeBlocks) {
  const ModelSpec model = parse_split(reader_of(R"("qkv.2", "qkv.0")"));
  std::vector<std::string> names;
  for (const BlockSpec& block : model.blocks) names.push_back(block.name);
  EXPECT_THAT(names, ElementsAre("qkv", "qkv.2", "qkv.0", "join", "fc"));  // nobody reads qkv.1
  EXPECT_EQ(model.blocks[1].nodes[0].layer, ops::Operation(ops::Slice{.start = 6, .length = 6}));
  EXPECT_EQ(model.blocks[2].nodes[0].layer, ops::Operation(ops::Slice{.length = 4}));
  EXPECT_THAT(inputs_of(model, 1), ElementsAre(0));
  EXPECT_THAT(inputs_of(model, 2), ElementsAre(0));
  EXPECT_THAT(inputs_of(model, 3), ElementsAre(1, 2));
  EXPECT_EQ(border_shapes(model)[4], (tensor::Shape{10, 8, 8}));
  EXPECT_EQ(parse_model(write_model(model), "net.toml", {}, 10), model);
  EXPECT_THAT(graph_text(model), HasSubstr("qkv.2"));
  std::vector<std::string> fine;
  for (const FineBlock& block : fuse(model)) fine.push_back(block.name);
  EXPECT_THAT(fine, ElementsAre("qkv", "qkv.2", "qkv.0", "join", "fc.flatten", "fc.linear"));
}

TEST(ModelSplits, ASplitAloneCutsWhatItsBlockReads) {
  const ModelSpec model = parse_split(
      "[[block]]\nname = \"rgb\"\nlayers = [{type = \"split\", axis = 2, sizes = [5, 3]}]\n"
      "[[block]]\nname = \"a\"\ninputs = [\"rgb.1\"]\nlayers = [{type = \"relu\"}]\n" +
      kSplitHead);
  ASSERT_EQ(model.blocks.size(), 3U);
  EXPECT_EQ(model.blocks[0].nodes[0].layer,
            ops::Operation(ops::Slice{.start = 5, .length = 3, .axis = 2}));
  EXPECT_THAT(inputs_of(model, 0), ElementsAre(kModelInput));
  EXPECT_EQ(border_shapes(model)[1], (tensor::Shape{3, 8, 3}));
}

TEST(ModelSplits, LayersNameOutputsToo) {
  const ModelSpec model = parse_split(
      "[[block]]\nname = \"b\"\nlayers = [{type = \"convolution\", out = 8, kernel = 1}, {type = "
      "\"split\", name = \"half\", sizes = [3, 5]}, {type = \"relu\", from = \"half.1\"}, {type = "
      "\"concat\", from = [\"relu\", \"half.0\", \"half.1\"]}]\n" +
      kSplitHead);
  const std::vector<Node>& nodes = model.blocks[0].nodes;
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_EQ(nodes[1].name, "half.1");
  EXPECT_EQ(nodes[3].name, "half.0");
  EXPECT_THAT(nodes[4].inputs, ElementsAre(2, 3, 1));
  EXPECT_EQ(border_shapes(model)[1], (tensor::Shape{13, 8, 8}));
  EXPECT_EQ(parse_model(write_model(model), "net.toml", {}, 10), model);
}

TEST(ModelSplits, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(split_refusal(reader_of(R"("qkv.0", "qkv.3")")),
              HasSubstr("split 'qkv' has no output 3; there are qkv.0 to qkv.2"));
  EXPECT_THAT(split_refusal(reader_of(R"("qkv.0", "qkv")")),
              HasSubstr("'qkv' ends in a split; name one of its outputs, qkv.0 to qkv.2"));
  for (const char* odd : {"qkv.01", "qkv.", "qkv.-1", "qkv.x", "qkv.99999999999999999999"}) {
    EXPECT_THAT(split_refusal(reader_of(fmt::format("\"{}\"", odd))),
                HasSubstr("neither an earlier block"))
        << odd;
  }
  EXPECT_THAT(split_refusal(kSplitBlock + kSplitHead), HasSubstr("write inputs = [\"qkv.0\"]"));
  EXPECT_THAT(split_refusal("[[block]]\nname = \"s\"\nweights = \"a\"\nlayers = [{type = "
                            "\"split\", sizes = [1, 2]}]\n" +
                            kSplitHead),
              HasSubstr("weights = 'a': a split has no parameters"));
  EXPECT_THAT(split_refusal(kSplitBlock), HasSubstr("nothing reads the split of block 'qkv'"));
  const std::string inside =
      "[[block]]\nname = \"b\"\nlayers = [{type = \"split\", sizes = SIZES}, LAYER]\n" + kSplitHead;
  const auto with = [&](const std::string& sizes, const std::string& layer) {
    std::string text = inside;
    text.replace(text.find("SIZES"), 5, sizes);
    text.replace(text.find("LAYER"), 5, layer);
    return split_refusal(text);
  };
  const std::string first = R"({type = "relu", from = "split.0"})";
  EXPECT_EQ(with("[1, 2]", first), "no error");
  EXPECT_THAT(with("[1, 1]", first),
              HasSubstr("sizes of the split add up to 2, but its input 3x8x8 has 3 along axis 0"));
  EXPECT_THAT(with("[4]", first),
              HasSubstr("net.toml:3: block 'b': the sizes of the split add up to 4, but its input "
                        "3x8x8 has 3 along axis 0"));
  EXPECT_THAT(with("[]", first), HasSubstr("a split needs sizes"));
  EXPECT_THAT(with("[0, 3]", first), HasSubstr("sizes"));
  EXPECT_THAT(with("[1, 2], parts = 2", first), HasSubstr("parts"));
  EXPECT_THAT(
      with("[1, 2], axis = 3", first),
      HasSubstr("net.toml:3: block 'b': a split along axis 3 of 3x8x8, which has 3 (0 to 2)"));
  EXPECT_THAT(
      split_refusal(reader_of(R"("qkv.0", "qkv.2")")
                        .replace(reader_of("").find("sizes"), 17, "axis = 5, sizes = [4, 2, 6]")),
      HasSubstr("block 'qkv': a split along axis 5 of 12x8x8"));
  EXPECT_THAT(with("[1, 2]", R"({type = "relu"})"), HasSubstr("the layer before is split 'split'"));
  EXPECT_THAT(with("[1, 2]", R"({type = "relu", from = "split"})"), HasSubstr("is a split"));
  EXPECT_THAT(with("[1, 2]", R"({type = "relu", from = "input"})"),
              HasSubstr("nothing reads split 'split'"));
  EXPECT_THAT(
      split_refusal("[[block]]\nresidual = true\nlayers = [{type = \"split\", sizes = [3]}]\n"),
      HasSubstr("a residual block has no split"));
  EXPECT_THAT(
      split_refusal("[[block]]\nname = \"r\"\nrepeat = 2\nlayers = [{type = \"relu\"}, {type "
                    "= \"split\", sizes = [3]}]\n"),
      HasSubstr("cannot be repeated"));
}

/// Layers are called alike where the file says nothing; "a.b" is no copy of "a".
TEST(ModelSplits, OfABlockWithADotAreNotThoseOfAnother) {
  const std::string split = R"(layers = [{type = "convolution", out = %, kernel = 1},
  {type = "split", sizes = [*, *]}, {type = "add", from = ["split.0", "split.1"]}]
)";
  const auto block = [&](const std::string& name, const std::string& out, const std::string& half) {
    std::string text = "[[block]]\nname = \"" + name + "\"\n" + split;
    text.replace(text.find('%'), 1, out);
    for (int k = 0; k < 2; ++k) text.replace(text.find('*'), 1, half);
    return text;
  };
  const ModelSpec model =
      parse_split(block("a", "12", "6") + block("a.b", "24", "12") + kSplitHead);
  EXPECT_EQ(model.blocks.size(), 3U);
}

TEST(ModelSplits, NobodyElseHasTheNameOfAnOutput) {
  const std::string other =
      "[[block]]\nname = \"qkv.1\"\ninputs = [\"IN\"]\nlayers = [{type = "
      "\"relu\"}]\n";
  const auto reads = [&](const std::string& input) {
    return std::string(other).replace(other.find("IN"), 2, input);
  };
  const std::string last =
      "[[block]]\nname = \"last\"\ninputs = [\"qkv.1\"]\nlayers = [{type = "
      "\"relu\"}]\n";
  for (const std::string& text : {kSplitBlock + reads("qkv.0") + last + kSplitHead,
                                  reads("input") + kSplitBlock + last + kSplitHead}) {
    EXPECT_THAT(split_refusal(text),
                HasSubstr("block 'qkv.1' has the name of output 1 of the split of block 'qkv'"));
  }
  EXPECT_THAT(split_refusal("[[block]]\nlayers = [{type = \"split\", sizes = [1, 2]}, {type = "
                            "\"relu\", name = \"split.1\", from = \"split.0\"}]\n"),
              HasSubstr("a layer is called 'split.1', as an output of split 'split' is"));
}

}  // namespace
}  // namespace plait::graph
