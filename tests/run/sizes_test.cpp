// The planner's model of sizes beside the layers as they are built: layouts, what blocks keep,
// parameters and scratch memory, of whole networks.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/zoo.hpp"
#include "plan/network_sizes.hpp"
#include "run/chain.hpp"

namespace plait::run {
namespace {

struct SizesCase {
  std::string model;
  tensor::Shape input;
  std::int64_t batch;
  int threads = 1;
};

std::ostream& operator<<(std::ostream& out, const SizesCase& one) {
  return out << one.model << " batch " << one.batch << " threads " << one.threads;
}

struct Sums {
  double values = 0;  ///< tensors, saved and pending
  double parameters = 0;
  double scratch = 0;
};

class SizesModel : public ::testing::TestWithParam<SizesCase> {};

TEST_P(SizesModel, IsWithinATenthOfTheLayers) {
  const SizesCase& one = GetParam();
  const plan::Network network = plan::make_network(graph::make_model(one.model, one.input, 10));
  const plan::NetworkSizes sizes =
      plan::network_sizes(network, one.batch, {.threads = one.threads});
  const Chain chain(network, {.batch = one.batch, .threads = one.threads});
  Sums model;
  Sums real;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const kernels::Block& block = chain.block(i);
    const graph::BlockSizes& foreseen = sizes.blocks[i];
    EXPECT_EQ(foreseen.traits, block.traits()) << block.name();
    EXPECT_EQ(foreseen.dst, block.dst_desc()) << block.name();
    EXPECT_EQ(foreseen.saved_bytes, static_cast<std::int64_t>(block.saved_bytes())) << block.name();
    EXPECT_EQ(foreseen.pending_bytes, static_cast<std::int64_t>(block.pending_bytes()))
        << block.name();
    real.values +=
        static_cast<double>(block.dst_desc().bytes() + block.saved_bytes() + block.pending_bytes());
    model.values += static_cast<double>(foreseen.dst.bytes()) +
                    static_cast<double>(foreseen.saved_bytes + foreseen.pending_bytes);
    real.parameters += static_cast<double>(block.weights_size() + block.state_size());
    model.parameters += static_cast<double>(foreseen.weights + foreseen.state);
    real.scratch = std::max(real.scratch, static_cast<double>(block.scratch_bytes()));
    model.scratch = std::max(model.scratch, static_cast<double>(foreseen.scratch_bytes));
    RecordProperty(block.name(), fmt::format("scratch {} foreseen {}", block.scratch_bytes(),
                                             foreseen.scratch_bytes));
  }
  EXPECT_NEAR(model.values, real.values, 0.02 * real.values);
  EXPECT_NEAR(model.parameters, real.parameters, 0.02 * real.parameters);
  // A part of all the memory: a tenth of that.
  EXPECT_NEAR(model.scratch, real.scratch, 0.1 * (real.values + 3 * 4 * real.parameters))
      << "scratch " << real.scratch / (1 << 20) << " MiB, foreseen " << model.scratch / (1 << 20);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, SizesModel,
    ::testing::Values(
        SizesCase{"lenet", {1, 28, 28}, 64, 1}, SizesCase{"lenet", {1, 28, 28}, 16, 2},
        SizesCase{"mlp:300-100", {1, 28, 28}, 32, 1}, SizesCase{"mlp:1000-1000", {784}, 8, 2},
        SizesCase{"vgg11", {3, 32, 32}, 16, 1}, SizesCase{"vgg16", {3, 32, 32}, 32, 2},
        SizesCase{"resnet20", {3, 32, 32}, 32, 1}, SizesCase{"resnet164", {3, 32, 32}, 8, 2},
        SizesCase{"preresnet11", {3, 32, 32}, 16, 1}, SizesCase{"densenet121", {3, 32, 32}, 4, 1},
        SizesCase{"googlenet", {3, 32, 32}, 4, 2}, SizesCase{"squeezenet", {3, 64, 64}, 4, 1},
        SizesCase{"mobilenet_v2", {3, 32, 32}, 8, 2}, SizesCase{"unet:16", {3, 48, 48}, 4, 2},
        SizesCase{"unet:8", {3, 48, 48}, 4, 2}, SizesCase{"efficientnet_b0", {3, 32, 32}, 4, 1},
        SizesCase{"radixnet:1024x6", {1024}, 24, 1}));

}  // namespace
}  // namespace plait::run
