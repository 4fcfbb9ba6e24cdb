// Every operation of the table in a model file: written and read back, and refused outside its
// bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/model_file.hpp"

namespace plait::graph {
namespace {

/// With a head for ten classes behind it.
ModelSpec with_layer(const std::string& layer, const std::string& input) {
  const std::string text = "input = " + input + "\n[[block]]\nname = \"b\"\nlayers = [ {" + layer +
                           "}, {type = \"flatten\"}, {type = \"linear\", out = \"classes\"} ]\n";
  return parse_model(text, "m.toml", {}, 10);
}

std::string refused(const std::string& layer, const std::string& input) {
  try {
    with_layer(layer, input);
  } catch (const UserError& error) {
    return error.what();
  }
  return "read";
}

struct FileCase {
  std::string layer;
  std::string input;
  ops::Operation operation;
  tensor::Shape dst;
};

std::vector<FileCase> file_cases() {
  using A = ops::Activation;
  using K = ops::ActivationKind;
  const std::string image = "[6, 5, 4]";
  return {
      {"type = \"upsample\", scale = [2, 3]", image, ops::Upsample{.scale = {2, 3}}, {6, 10, 12}},
      {"type = \"upsample_bilinear\"",
       image,
       ops::Upsample{.kind = ops::UpsampleKind::bilinear},
       {6, 10, 8}},
      {"type = \"slice\", start = 1, length = 4", image, ops::Slice{1, 4}, {4, 5, 4}},
      {"type = \"slice\", length = 6", image, ops::Slice{0, 6}, {6, 5, 4}},
      {"type = \"channel_shuffle\", groups = 3", image, ops::ChannelShuffle{3}, {6, 5, 4}},
      {"type = \"layer_norm\"", image, ops::LayerNorm{}, {6, 5, 4}},
      {"type = \"layer_norm\", dims = 3, epsilon = 1e-6, affine = false",
       image,
       ops::LayerNorm{3, 1e-6, false},
       {6, 5, 4}},
      {"type = \"hard_sigmoid\"", image, A{K::hard_sigmoid}, {6, 5, 4}},
      {"type = \"hard_swish\"", image, A{K::hard_swish}, {6, 5, 4}},
      {"type = \"adaptive_average_pool\", output = [3, 7]",
       image,
       ops::AdaptiveAveragePool{{3, 7}},
       {6, 3, 7}},
      {"type = \"transposed_convolution\", out = 4, kernel = 3, stride = [2, 3], padding = 1, "
       "output_padding = [1, 2], groups = 2, bias = false",
       image,
       ops::TransposedConvolution{.out_channels = 4,
                                  .kernel = {3, 3},
                                  .stride = {2, 3},
                                  .padding = {1, 1},
                                  .output_padding = {1, 2},
                                  .groups = 2,
                                  .bias = false},
       {4, 10, 12}},
      {"type = \"convolution_1d\", out = 9, kernel = 5, stride = 2, padding = 1, dilation = 2, "
       "groups = 3",
       "[6, 20]",
       ops::Convolution1d{
           .out_channels = 9, .kernel = 5, .stride = 2, .padding = 1, .dilation = 2, .groups = 3},
       {9, 7}},
  };
}

TEST(OperationsInFiles, AreReadAndWritten) {
  for (const FileCase& one : file_cases()) {
    SCOPED_TRACE(one.layer);
    const ModelSpec model = with_layer(one.layer, one.input);
    EXPECT_EQ(model.blocks[0].nodes[0].layer, one.operation);
    EXPECT_EQ(ops::result_shape(one.operation, {&model.input, 1}, "here"), one.dst);
    EXPECT_EQ(parse_model(write_model(model), "m.toml", {}, 10), model);
  }
}

TEST(OperationsInFiles, AreRefusedOutsideTheirBounds) {
  using testing::HasSubstr;
  const std::string image = "[6, 5, 4]";
  const auto expect = [&](const std::string& layer, const std::string& why) {
    EXPECT_THAT(refused(layer, image), HasSubstr(why)) << layer;
  };
  expect("type = \"upsample\", scale = 0", "scale = 0 is not within");
  expect("type = \"upsample\", scale = 1048576", "more than 2^40 elements");
  expect("type = \"slice\"", "'length' is missing");
  expect("type = \"slice\", start = 3, length = 4",
         "a slice of 4 channels from 3 on does not fit its input 6x5x4");
  expect("type = \"slice\", start = -1, length = 2", "start = -1 is not within");
  expect("type = \"channel_shuffle\", groups = 4", "4 groups do not divide the 6 channels");
  expect("type = \"layer_norm\", dims = 4", "over the last 4 dimensions of 6x5x4, which has 3");
  expect("type = \"layer_norm\", epsilon = 0", "epsilon 0 is not in (0, 1]");
  expect("type = \"adaptive_average_pool\"", "'output' is missing");
  expect("type = \"adaptive_average_pool\", output = 0", "output = 0 is not within");
  expect("type = \"transposed_convolution\", out = 4, output_padding = 1",
         "output_padding 1x1 is not below the stride 1x1");
  expect("type = \"transposed_convolution\", out = 4, groups = 4",
         "4 groups do not divide the channels 6 -> 4");
  expect("type = \"transposed_convolution\", out = 4, padding = 3", "leaves nothing of a result");
  expect("type = \"convolution_1d\", out = 4",
         "convolution_1d needs a sequence CxL but its input is 6x5x4");
  EXPECT_THAT(refused("type = \"upsample\"", "[6, 5]"), HasSubstr("needs an image CxHxW"));
  EXPECT_THAT(refused("type = \"layer_norm\", dims = 2", "[2147483648, 512]"),
              HasSubstr("parameters here"));
  EXPECT_THAT(refused("type = \"ConvTranspose2d\", out = 3", image),
              HasSubstr("did you mean 'transposed_convolution'?"));
}

}  // namespace
}  // namespace plait::graph
