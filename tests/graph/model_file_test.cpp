// Model files: what is read, what is refused and with which words, and the way back to text.
#include "graph/model_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "graph/zoo.hpp"
#include "temp_folder.hpp"

namespace plait::graph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const tensor::Shape kCifar{3, 32, 32};
const std::string kHead =
    "[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = \"classes\"}]\n";

ModelSpec parse(const std::string& text, const tensor::Shape& input = kCifar, int classes = 10) {
  return parse_model(text, "dir/tiny.toml", input, classes);
}

std::string message_of(const std::string& text, const tensor::Shape& input = kCifar,
                       int classes = 10) {
  try {
    parse(text, input, classes);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), StartsWith("dir/tiny.toml"));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

/// One block of the given layers, on line 3, before a head that fits anything.
std::string with_layers(const std::string& layers) {
  return "[[block]]\nname = \"b\"\nlayers = [" + layers + "]\n" + kHead;
}

TEST(ModelFile, ReadsAChain) {
  const ModelSpec model = parse(R"(
    name = "little"
    [[block]]
    name = "conv1"
    layers = [
      {type = "convolution", out = 16, kernel = [3, 5], stride = 2, padding = [1, 2], bias = false},
      {type = "batch_norm", epsilon = 1e-3, momentum = 1},
      {type = "relu"},
      {type = "convolution", out = 8, dilation = 2, groups = 4},
    ]
    [[block]]
    layers = [{type = "max_pool", kernel = 3}, {type = "average_pool", kernel = 2, stride = 1}]
    [[block]]
    name = "fc"
    layers = [{type = "flatten"}, {type = "dropout", probability = 0.25}, {type = "linear", out = "classes"}]
  )");
  EXPECT_EQ(model.name, "little");
  EXPECT_EQ(model.input, kCifar);
  ASSERT_EQ(model.blocks.size(), 3U);
  const BlockSpec& conv = model.blocks[0];
  EXPECT_EQ(conv.nodes[0].name, "conv1");
  EXPECT_EQ(conv.nodes[1].name, "bn");
  EXPECT_EQ(conv.nodes[3].name, "conv2");
  EXPECT_EQ(conv.nodes[0].layer, ops::Operation(ops::Convolution{.out_channels = 16,
                                                                 .kernel = {3, 5},
                                                                 .stride = {2, 2},
                                                                 .padding = {1, 2},
                                                                 .bias = false}));
  EXPECT_EQ(conv.nodes[1].layer, ops::Operation(ops::BatchNorm{.epsilon = 1e-3, .momentum = 1}));
  EXPECT_EQ(conv.nodes[3].layer,
            ops::Operation(ops::Convolution{.out_channels = 8, .dilation = {2, 2}, .groups = 4}));
  EXPECT_EQ(model.blocks[1].name, "block2");
  EXPECT_EQ(model.blocks[1].nodes[0].layer,
            ops::Operation(ops::Pool{.kernel = {3, 3}, .stride = {3, 3}}));
  EXPECT_EQ(model.blocks[1].nodes[1].layer,
            ops::Operation(
                ops::Pool{.kind = ops::PoolKind::average, .kernel = {2, 2}, .stride = {1, 1}}));
  EXPECT_EQ(model.blocks[2].nodes[1].layer, ops::Operation(ops::Dropout{.probability = 0.25}));
  EXPECT_EQ(border_shapes(model).back(), tensor::Shape{10});
}

TEST(ModelFile, NameAndInputDefault) {
  const ModelSpec model = parse(kHead);
  EXPECT_EQ(model.name, "tiny");
  EXPECT_EQ(model.input, kCifar);
  EXPECT_EQ(parse("input = [3, 32, 32]\n" + kHead).input, kCifar);
  EXPECT_EQ(parse("input = [5]\n" + kHead, tensor::Shape{}).input, tensor::Shape{5});
}

TEST(ModelFile, RepeatsABlockWithNumberedNames) {
  const ModelSpec model =
      parse("[[block]]\nname = \"c\"\nrepeat = 3\nlayers = [{type = \"relu\"}]\n" + kHead);
  ASSERT_EQ(model.blocks.size(), 4U);
  EXPECT_EQ(model.blocks[0].name, "c.0");
  EXPECT_EQ(model.blocks[2].name, "c.2");
  EXPECT_EQ(model.blocks[2].nodes, model.blocks[0].nodes);
}

TEST(ModelFile, ResidualBlockIsTheBlockOfTheZoo) {
  const ModelSpec zoo = make_model("resnet20", kCifar, 10);
  const BlockSpec& wanted = zoo.blocks[4];  // layer2.0, with a projection
  const ModelSpec model = parse_model(R"(
    [[block]]
    name = "layer2.0"
    residual = true
    layers = [
      {type = "convolution", out = 32, stride = 2, padding = 1, bias = false}, {type = "batch_norm"}, {type = "relu"},
      {type = "convolution", out = 32, padding = 1, bias = false}, {type = "batch_norm"},
    ]
    shortcut = [
      {name = "downsample.0", type = "convolution", out = 32, kernel = 1, stride = 2, bias = false},
      {name = "downsample.1", type = "batch_norm"},
    ]
    after = [{type = "relu"}]
    [[block]]
    layers = [{type = "flatten"}, {type = "linear", out = 10}]
  )",
                                      "x.toml", {16, 32, 32}, 10);
  EXPECT_EQ(model.blocks[0], wanted);
}

TEST(ModelFile, ResidualWithoutShortcutTakesTheInput) {
  const ModelSpec model =
      parse("[[block]]\nresidual = true\nlayers = [{type = \"relu\"}]\n" + kHead);
  EXPECT_EQ(model.blocks[0].nodes[1].inputs, (std::vector{0, kBlockInput}));
}

TEST(ModelFile, GraphForm) {
  const ModelSpec model =
      parse(with_layers(R"({name = "a", type = "relu"}, {name = "b", type = "tanh", from = "input"},
      {type = "add", from = ["a", "b"]})"));
  EXPECT_EQ(model.blocks[0].nodes[1].inputs, std::vector{kBlockInput});
  EXPECT_EQ(model.blocks[0].nodes[2].inputs, (std::vector{0, 1}));
}

TEST(ModelFile, WholeZooSurvivesTheRoundTrip) {
  for (const ZooEntry& entry : zoo_names()) {
    const ModelSpec model = make_model(entry.name, kCifar, 10);
    const TempFolder temporary;
    const std::string folder = temporary.path();
    for (const MatrixFile& matrix : matrix_files(model)) {
      std::ofstream(folder + "/" + matrix.name) << matrix.text;
    }
    const std::string text = write_model(model);
    EXPECT_EQ(parse_model(text, folder + "/m.toml", kCifar, 10), model) << entry.name;
    EXPECT_EQ(parse_model(text, folder + "/m.toml", tensor::Shape{}, 10), model) << entry.name;
  }
  for (const char* name : {"vgg16", "resnet50"}) {
    const ModelSpec model = make_model(name, {3, 224, 224}, 1000);
    EXPECT_EQ(parse(write_model(model), tensor::Shape{}, 1000), model) << name;
  }
}

TEST(ModelFile, OddValuesSurviveTheRoundTrip) {
  ModelSpec model = parse(with_layers(R"(
    {name = "x.y", type = "convolution", out = 6, kernel = [1, 3], stride = [2, 1], padding = [0, 4], dilation = [1, 2], groups = 3},
    {type = "batch_norm", epsilon = 0.1234567890123456789, momentum = 0}, {type = "sigmoid"}, {type = "gelu"},
    {name = "norm", type = "batch_norm", centered = false},
    {type = "leaky_relu"}, {name = "steep", type = "leaky_relu", slope = 0.1}, {type = "silu"},
    {name = "up", type = "max_pool", kernel = 2, stride = 1, ceil_mode = true},
    {name = "mean", type = "average_pool", kernel = 3, padding = 1, stride = 1, ceil_mode = true, count_include_pad = false},
    {type = "average_pool", kernel = [2, 3], stride = [1, 2], padding = 1}, {type = "global_average_pool"},
    {type = "dropout", probability = 0.30000000000000004})"));
  model.name = "a \"quoted\\\" name\n\x7f";
  model.blocks[0].nodes.resize(1);
  model.blocks[0].nodes[0].name = "";
  EXPECT_EQ(parse(write_model(model)), model);
}

TEST(ModelFile, CeilModeCountsWindowsAsPyTorchDoes) {
  const auto dst = [](const std::string& keys, const tensor::Shape& src) {
    const ModelSpec model = parse(with_layers("{type = \"max_pool\", " + keys + "}"), src);
    return node_shapes(model.blocks[0], src)[0];
  };
  EXPECT_EQ(dst("kernel = 2", {3, 7, 6}), (tensor::Shape{3, 3, 3}));
  EXPECT_EQ(dst("kernel = 2, ceil_mode = true", {3, 7, 6}), (tensor::Shape{3, 4, 3}));
  EXPECT_EQ(dst("kernel = 3, stride = 2, padding = 1, ceil_mode = true", {3, 6, 8}),
            (tensor::Shape{3, 4, 5}));
  // A window that would start behind the image is left out.
  EXPECT_EQ(dst("kernel = 2, padding = 1, ceil_mode = true", {3, 5, 5}), (tensor::Shape{3, 3, 3}));
}

TEST(ModelFile, SettingsOfOtherLayersAreRefused) {
  EXPECT_THAT(message_of(with_layers("{type = \"max_pool\", count_include_pad = false}")),
              HasSubstr("unknown key 'count_include_pad'"));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\", slope = 0.1}")),
              HasSubstr("unknown key 'slope'"));
  EXPECT_THAT(message_of(with_layers("{type = \"leaky_relu\", slope = -0.1}")),
              HasSubstr("the slope -0.1 of leaky_relu must be a number from 0 on"));
}

TEST(ModelFile, UnknownKeysAreRefusedWithLineAndSuggestion) {
  EXPECT_THAT(
      message_of("nmae = \"x\"\n" + kHead),
      AllOf(HasSubstr("tiny.toml:1:"), HasSubstr("unknown key 'nmae'"), HasSubstr("'name'")));
  EXPECT_THAT(message_of("[[block]]\nlayer = []\n"),
              AllOf(HasSubstr("tiny.toml:2:"), HasSubstr("did you mean 'layers'")));
  EXPECT_THAT(
      message_of(with_layers("\n{type = \"convolution\", out = 3, kernal = 3}")),
      AllOf(HasSubstr("tiny.toml:4:"), HasSubstr("block 'b'"), HasSubstr("did you mean 'kernel'")));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\", out = 3}")),
              HasSubstr("unknown key 'out'"));
  EXPECT_THAT(message_of(with_layers("{type = \"batchnorm\"}")),
              HasSubstr("did you mean 'batch_norm'"));
}

TEST(ModelFile, WrongTypesAreRefused) {
  EXPECT_THAT(message_of("name = 3\n"),
              HasSubstr("name must be a text in quotes but is a whole number"));
  EXPECT_THAT(message_of("input = 3\n"), HasSubstr("input must be a list"));
  EXPECT_THAT(message_of("block = 3\n"), HasSubstr("block must be a list"));
  EXPECT_THAT(message_of("block = [3]\n"), HasSubstr("must be a table"));
  EXPECT_THAT(message_of("[[block]]\nlayers = 5\n"),
              HasSubstr("tiny.toml:2: block 'block1': layers must be"));
  EXPECT_THAT(message_of("[[block]]\nrepeat = 1.5\nlayers = [{type = \"relu\"}]\n"),
              HasSubstr("repeat must be a whole number but is a number"));
  EXPECT_THAT(message_of("[[block]]\nresidual = \"yes\"\n"),
              HasSubstr("must be true or false but is a text"));
  EXPECT_THAT(message_of(with_layers("{type = \"convolution\", out = 3, kernel = \"big\"}")),
              HasSubstr("tiny.toml:3: block 'b', convolution: kernel must be a whole number"));
  EXPECT_THAT(message_of(with_layers("{type = \"convolution\", out = 3, kernel = [1, 2, 3]}")),
              HasSubstr("has 3 numbers"));
  EXPECT_THAT(message_of(with_layers("{type = \"dropout\", probability = 1979-05-27}")),
              HasSubstr("is a date or time"));
  EXPECT_THAT(message_of(with_layers("{type = \"linear\", out = \"clases\"}")),
              HasSubstr("\"classes\""));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\", from = 3}")), HasSubstr("from must be"));
  EXPECT_THAT(message_of(with_layers("{out = 3}")), HasSubstr("needs a type"));
  EXPECT_THAT(message_of(with_layers("{type = \"linear\"}")), HasSubstr("'out' is missing"));
  EXPECT_THAT(message_of("a = [\n"), AllOf(HasSubstr("tiny.toml:"), HasSubstr("not valid TOML")));
}

TEST(ModelFile, WrongGraphsAreRefused) {
  EXPECT_THAT(message_of(with_layers("{type = \"relu\", from = \"realu\"}, {type = \"relu\"}")),
              HasSubstr("from = 'realu'"));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\"}, {type = \"tanh\", from = \"rely\"}")),
              HasSubstr("did you mean 'relu'"));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\"}, {type = \"tanh\", from = \"input\"}")),
              HasSubstr("nothing reads the output of layer 'relu'"));
  EXPECT_THAT(message_of(with_layers("{type = \"add\"}")),
              HasSubstr("add takes 2 input(s) but has 1"));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\", from = []}")),
              HasSubstr("takes 1 input(s) but has 0"));
  EXPECT_THAT(
      message_of(with_layers("{type = \"relu\", name = \"x\"}, {type = \"tanh\", name = \"x\"}")),
      HasSubstr("'b.x' occurs twice"));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\", name = \"input\"}")),
              HasSubstr("cannot be called"));
  EXPECT_THAT(message_of(with_layers("{type = \"relu\", name = \"a b\"}")),
              HasSubstr("letters, digits"));
  EXPECT_THAT(message_of("[[block]]\nname = \"block2\"\nlayers = [{type = \"relu\"}]\n" + kHead),
              HasSubstr("block 'block2' occurs twice"));
  EXPECT_THAT(message_of("[[block]]\nshortcut = []\nlayers = [{type = \"relu\"}]\n"),
              HasSubstr("residual = true"));
  EXPECT_THAT(message_of("[[block]]\n"), HasSubstr("needs layers"));
  EXPECT_THAT(message_of(""), HasSubstr("no blocks"));
}

TEST(ModelFile, WrongShapesAreRefusedWithBothShapes) {
  EXPECT_THAT(message_of("input = [1, 28, 28]\n" + kHead),
              AllOf(HasSubstr("tiny.toml:1:"), HasSubstr("1x28x28"), HasSubstr("3x32x32")));
  EXPECT_THAT(message_of("[[block]]\nname = \"r\"\nresidual = true\nlayers = [{type = "
                         "\"convolution\", out = 4, padding = 1}]\n"),
              AllOf(HasSubstr("block 'r'"), HasSubstr("4x32x32"), HasSubstr("3x32x32")));
  EXPECT_THAT(message_of(with_layers("{type = \"linear\", out = 4}")),
              HasSubstr("put a flatten in front"));
  EXPECT_THAT(message_of(kHead, tensor::Shape{}), HasSubstr("no input shape"));
  EXPECT_THAT(
      message_of("[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 7}]\n"),
      AllOf(HasSubstr("returns 7"), HasSubstr("10 classes")));
  EXPECT_THAT(message_of(kHead, kCifar, 0), HasSubstr("at least 1 class"));
}

std::string ending(const std::string& layers, int classes) {
  return message_of("[[block]]\nname = \"o\"\nlayers = [" + layers + "]\n", {6, 4}, classes);
}

/// As in PyTorch: labels need not all occur.
TEST(ModelFile, OutputsMayBeMoreThanTheClasses) {
  const std::string head = R"({type = "flatten"}, {type = "linear", out = 7})";
  EXPECT_EQ(ending(head, 7), "no error");
  EXPECT_EQ(ending(head, 3), "no error");
  EXPECT_THAT(ending(head, 8),
              AllOf(HasSubstr("the last block 'o' returns 7"), HasSubstr("8 classes")));
  EXPECT_THAT(ending(R"({type = "linear", out = 20})", 20),
              HasSubstr("the last block 'o' returns 6x20, a row for each position of a sequence; "
                        "there is no loss per position yet"));
  const TempFolder folder;
  const std::string path = (folder.path() / "net.toml").string();
  std::ofstream(path) << "[[block]]\nlayers = [{type = \"linear\", out = 20}]\n";
  EXPECT_EQ(load_network(path, {6, 4}, 10).blocks.size(), 1U);
  EXPECT_THROW(load_model(path, {6, 4}, 10), UserError);
}

TEST(ModelFile, LimitsHold) {
  EXPECT_THAT(
      message_of("[[block]]\nrepeat = 100000\nlayers = [{type = \"relu\"}, {type = \"relu\"}]\n" +
                 kHead),
      HasSubstr("more than 100000 layers"));
  EXPECT_THAT(message_of("[[block]]\nrepeat = 100001\nlayers = [{type = \"relu\"}]\n"),
              HasSubstr("repeat = 100001"));
  EXPECT_THAT(message_of("[[block]]\nrepeat = 0\nlayers = [{type = \"relu\"}]\n"),
              HasSubstr("repeat = 0"));
  EXPECT_THAT(
      message_of(with_layers("{type = \"flatten\"}, {type = \"linear\", out = 2000000000}")),
      HasSubstr("more than 2^40 parameters"));
  EXPECT_THAT(
      message_of(with_layers("{type = \"convolution\", out = 2000000000, padding = 1048576}")),
      HasSubstr("more than 2^40 elements"));
  EXPECT_THAT(message_of(with_layers("{type = \"linear\", out = 9223372036854775807}")),
              HasSubstr("is not within"));
  EXPECT_THAT(message_of(with_layers("{type = \"convolution\", out = 1, kernel = -1}")),
              HasSubstr("kernel = -1"));
  EXPECT_THAT(message_of(with_layers("{type = \"convolution\", out = 1, groups = 0}")),
              HasSubstr("groups = 0"));
  EXPECT_THAT(message_of(with_layers("{type = \"dropout\", probability = 1.5}")),
              HasSubstr("not in [0, 1)"));
  EXPECT_THAT(message_of(with_layers("{type = \"dropout\", probability = nan}")),
              HasSubstr("probability must be a finite number but is nan"));
  EXPECT_THAT(message_of(with_layers("{type = \"batch_norm\", epsilon = -inf}")),
              HasSubstr("epsilon must be a finite number but is -inf"));
  EXPECT_THAT(message_of("input = [2147483648, 2147483648]\n" + kHead, tensor::Shape{}),
              HasSubstr("2^40 elements"));
  EXPECT_THAT(message_of("input = [0]\n" + kHead, tensor::Shape{}), HasSubstr("input = 0"));
}

TEST(ModelFile, HostileTextIsRefusedWithoutExhaustingTheStack) {
  std::string dotted = "a";
  for (int i = 0; i < 200'000; ++i) dotted += ".a";
  EXPECT_THAT(message_of(dotted + " = 1\n"), HasSubstr("more than 100 dots"));
  EXPECT_THAT(message_of("[" + dotted + "]\n"), HasSubstr("more than 100 dots"));
  EXPECT_THAT(message_of("a = " + std::string(100'000, '[')), HasSubstr("tiny.toml:1:"));
  std::string nested;
  for (int i = 0; i < 200; ++i) nested += dotted.substr(0, 181) + " = [\n{";
  EXPECT_THAT(message_of(nested), HasSubstr("tiny.toml:"));
  EXPECT_THAT(message_of("a = [[[[[[[[[[[[1]]]]]]]]]]]]"), HasSubstr("nested deeper"));
  EXPECT_THAT(message_of("# " + std::string(300, '.') + "\n" + kHead), "no error");
  EXPECT_THAT(message_of(std::string("name = \"\0\xff\"", 11)), HasSubstr("not valid TOML"));
}

TEST(ModelFile, LettersBeyondAsciiLiveInCommentsAndNames) {
  const ModelSpec model =
      parse("\xEF\xBB\xBF# gr\u00f6\u00dfe \u041e\nname = \"\u00e9t\u00e9 \U0001F600\"\n" + kHead);
  EXPECT_EQ(model.name, "\u00e9t\u00e9 \U0001F600");
  EXPECT_EQ(parse(write_model(model)), model);
  EXPECT_THAT(message_of("\n\u041e = 1\n"), HasSubstr("tiny.toml:2:"));
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_THAT(message_of(std::string("\n# ") + bad), HasSubstr("tiny.toml:2: not valid TOML"));
  }
}

TEST(LoadModel, TellsFilesFromNames) {
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "model.toml";
  const ModelSpec vgg = make_model("vgg11", kCifar, 10);
  std::ofstream(path) << write_model(vgg);
  EXPECT_EQ(load_model(path.string(), kCifar, 10), vgg);
  std::filesystem::remove(path);
  EXPECT_EQ(load_model("vgg11", kCifar, 10), vgg);
  EXPECT_THROW(load_model(path.string(), kCifar, 10), UserError);
  EXPECT_THROW(load_model((folder.path() / ".toml").string(), kCifar, 10), UserError);
}

}  // namespace
}  // namespace plait::graph
