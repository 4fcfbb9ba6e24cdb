// The table of a model: what it says and that it lines up.
#include "graph/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "graph/macs.hpp"
#include "graph/zoo.hpp"

namespace plait::graph {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Summary, LeNetInFull) {
  EXPECT_EQ(summary(make_model("lenet", {1, 28, 28}, 10)),
            "block  layers                     output    parameters    MACs\n"
            "input                             1x28x28\n"
            "conv1  conv5x5 20                 20x24x24         520   288 k\n"
            "pool1  max_pool 2x2               20x12x12           0       0\n"
            "conv2  conv5x5 50                 50x8x8        25,050  1.60 M\n"
            "pool2  max_pool 2x2               50x4x4             0       0\n"
            "fc1    flatten, linear 500, relu  500          400,500   400 k\n"
            "fc2    linear 10                  10             5,010  5.00 k\n"
            "total  6 blocks                   10           431,080  2.29 M\n");
}

TEST(Summary, LinesLineUpForTheWholeZoo) {
  for (const ZooEntry& entry : zoo_names()) {
    const std::vector<std::string> lines =
        lines_of(summary(make_model(entry.name, {3, 32, 32}, 10)));
    EXPECT_THAT(lines.at(1), StartsWith("input")) << entry.name;  // nothing behind its shape
    EXPECT_LE(lines[0].size(), 80U) << entry.name;
    EXPECT_EQ(lines.back().size(), lines[0].size()) << entry.name;
    std::size_t whole = 0;  // lines that end with their MACs, not the rest of a long cell
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), lines[0].size()) << entry.name;
      whole += line.size() == lines[0].size() ? 1 : 0;
    }
    EXPECT_GE(whole, 3U) << entry.name;
  }
}

TEST(Summary, EqualBlocksShareALine) {
  const std::string text = summary(make_model("resnet1001", {3, 32, 32}, 10));
  EXPECT_LT(lines_of(text).size(), 40U);
  EXPECT_THAT(text, HasSubstr("layer1.1 .. layer1.110 "));
  EXPECT_THAT(text, HasSubstr("(110x)"));
  EXPECT_THAT(text, HasSubstr("335 blocks"));
  EXPECT_THAT(text, HasSubstr("10,327,706"));
  EXPECT_THAT(text, HasSubstr("1.49 G"));
}

TEST(Macs, CountsAResidualBlock) {
  BlockSpec block{.name = "b", .nodes = {}};
  const int conv =
      block.then("conv", ops::Convolution{.out_channels = 4, .padding = {1, 1}, .groups = 2});
  const int bn = block.then("bn", ops::BatchNorm{});
  block.join("add", ops::Add{}, {bn, kBlockInput});
  EXPECT_EQ(conv, 0);
  const BlockCost cost = block_cost(block, {4, 5, 6});
  EXPECT_EQ(cost.macs, 4 * 5 * 6 * 2 * 9);
  EXPECT_EQ(cost.parameters, 4 * 2 * 9 + 4 + 8);
  EXPECT_EQ(cost.src_elements, 120);
  EXPECT_EQ(cost.dst_elements, 120);
  EXPECT_EQ(cost.activation_elements, 360);
}

TEST(Macs, ModelIsTheSumOfItsBlocks) {
  const ModelSpec model = make_model("mlp:7", {3, 2, 2}, 5);
  const BlockCost total = model_cost(model);
  EXPECT_EQ(total.macs, 12 * 7 + 7 * 5);
  EXPECT_EQ(total.src_elements, 12);
  EXPECT_EQ(total.dst_elements, 5);
  EXPECT_EQ(total.activation_elements, 12 + 7 + 7 + 5);
}

}  // namespace
}  // namespace plait::graph
