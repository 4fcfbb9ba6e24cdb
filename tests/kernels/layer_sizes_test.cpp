// The planner's model of sizes beside blocks of one layer as they are built, for the operations
// that no network of the zoo has.
#include <gtest/gtest.h>

#include "graph/block_sizes.hpp"
#include "kernels/block.hpp"
#include "kernels/operation_cases.hpp"

namespace plait::kernels::layer_testing {
namespace {

class LayerSizes : public testing::TestWithParam<LayerCase> {};

TEST_P(LayerSizes, AreThoseOfTheLayer) {
  const LayerCase& one = GetParam();
  graph::BlockSpec spec;
  spec.name = "block";
  spec.then("layer", one.spec);
  const tensor::TensorDesc src = batch_desc(one.src.without_front(), one.src[0]);
  const Block block(spec, src, {.threads = 1});
  const graph::BlockSizes sizes = graph::block_sizes(spec, {src}, {});
  EXPECT_EQ(sizes.dst, block.dst_desc());
  EXPECT_EQ(sizes.traits, block.traits());
  EXPECT_EQ(sizes.saved_bytes, static_cast<std::int64_t>(block.saved_bytes()));
  EXPECT_EQ(sizes.pending_bytes, static_cast<std::int64_t>(block.pending_bytes()));
  EXPECT_EQ(sizes.state, block.state_size());
  if (!std::holds_alternative<ops::TransposedConvolution>(one.spec) &&
      !std::holds_alternative<ops::Convolution1d>(one.spec)) {  // small ones are all padding
    EXPECT_EQ(sizes.weights, block.weights_size());
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, LayerSizes, testing::ValuesIn(operation_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plait::kernels::layer_testing
