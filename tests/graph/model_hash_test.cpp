// The hash of a model: recorded values, so that checkpoints of earlier versions fit.
#include "graph/model_hash.hpp"

#include <gtest/gtest.h>

#include "graph/zoo.hpp"

namespace plait::graph {
namespace {

TEST(ModelHash, IsAsCheckpointsOfEarlierVersionsHaveIt) {
  EXPECT_EQ(model_hash(make_model("resnet20", {1, 28, 28}, 10)), "641b57f629895071");
  EXPECT_EQ(model_hash(make_model("unet:4", {3, 48, 48}, 4)), "379ca5721af15b12");
}

TEST(ModelHash, SeesWhatABlockReads) {
  ModelSpec model = make_model("unet:4", {3, 32, 32}, 5);
  const std::string before = model_hash(model);
  for (BlockSpec& block : model.blocks) {
    if (block.inputs.size() != 2) continue;
    std::swap(block.inputs[0], block.inputs[1]);
    break;
  }
  EXPECT_NE(model_hash(model), before);
}

}  // namespace
}  // namespace plait::graph
