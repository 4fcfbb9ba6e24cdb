// Pipelines that cut inside the blocks of a model, under mpirun: the bits of threads, which
// tests/run compares with plain SGD.
#include "cli/pipeline_job.hpp"
#include "run/inside_models.hpp"

namespace plait::cli {
namespace {

class InsideBlocksMpi : public PipelineCli, public testing::WithParamInterface<int> {
 protected:
  /// Every pipeline on as many workers as the parameter says.
  void expect_equal_everywhere(const Words& network) {
    const int workers = GetParam();
    for (const char* strategy : {"layerpipe", "gpipe", "1f1b", "zb-h1", "zb-h2"}) {
      expect_equal({strategy, "sync", 4, workers}, network);
    }
    expect_equal({"layerpipe", "async", 1, workers}, network);
    expect_equal({"pipedream", "async", 1, workers}, network);
    expect_equal({"pipedream-replicated", "async", 4, workers}, network);
    expect_equal({"pipedream-2bw", "async", workers == 3 ? 4 : workers, workers}, network);
  }
  Words inside(const std::string& model) {
    write_text(path(model + ".toml"), run::kInsideModels.at(model));
    return Words{"--model", model + ".toml", "--cost", "analytic"} + images();
  }
};

TEST_P(InsideBlocksMpi, ResidualBlock) { expect_equal_everywhere(inside("residual")); }
TEST_P(InsideBlocksMpi, DenseBlock) { expect_equal_everywhere(inside("dense")); }
TEST_P(InsideBlocksMpi, EncoderAndDecoder) { expect_equal_everywhere(inside("unet")); }

INSTANTIATE_TEST_SUITE_P(All, InsideBlocksMpi, testing::Values(2, 3, 4, 8));

TEST_F(PipelineCli, ProcessesGiveTheBitsOfThreadsOnGraphsOfTheZoo) {
  const Words densenet =
      Words{"--model", "densenet121", "--steps", "1", "--cost", "analytic"} + images();
  expect_equal({"layerpipe", "sync", 4, 3}, densenet);
  const Words unet{"--model", "unet",         "--data", "shapes", "--steps",
                   "1",       "--test-limit", "4",      "--cost", "analytic"};
  expect_equal({"layerpipe", "sync", 4, 3}, unet);
  expect_equal({"pipedream", "async", 1, 2}, unet);
}

}  // namespace
}  // namespace plait::cli
