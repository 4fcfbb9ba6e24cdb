// Networks on token ids against plain SGD, bit for bit, and through a resumed run.
#include "run/pipeline_case.hpp"
#include "token_files.hpp"

namespace plait::run {
namespace {

class TokenOracle : public PipelineTest {
 protected:
  session::TrainConfig config_of(const PipelineCase& one) {
    write_text(folder_ / "tokens.toml", kTokenModel);
    session::TrainConfig config = PipelineTest::config_of(one, (folder_ / "tokens.toml").string());
    config.data = token_files(folder_);
    return config;
  }
};

TEST_F(TokenOracle, OneWorkerIsPlainSgd) {
  for (const int microbatches : {1, 3, 4}) {
    session::TrainConfig config = config_of({"serial", "", 1, microbatches});
    config.clip_norm = 0.5;
    EXPECT_EQ(run(config).weights_hash, PlainSgd(config, {}).run()) << microbatches;
  }
}

TEST_F(TokenOracle, WorkersOfDataParallelAddTheirShares) {
  session::TrainConfig config = config_of({"data_parallel", "", 2, 1});
  session::TrainConfig alone = config;
  alone.microbatches = 2;
  const std::size_t blocks = plan_of(config).network.blocks.size();
  EXPECT_EQ(run(config).weights_hash, PlainSgd(alone, {.sums = std::vector<int>(blocks, 2)}).run());
}

TEST_F(TokenOracle, Learns) {
  session::TrainConfig config = config_of({"serial", "", 1, 1});
  config.epochs = 40;
  config.lr = 0.05;
  const std::vector<double> losses = losses_of(config);
  EXPECT_LT(losses.back(), losses.front() / 4);
}

TEST_F(TokenOracle, GoesOnWithTheSameBits) {
  session::TrainConfig config = config_of({"layerpipe", "", 2});
  const std::string whole = run(config).weights_hash;
  config.run_dir = (folder_ / "run").string();
  config.epochs = 1;
  run(config);
  config.epochs = 2;
  config.resume = true;
  EXPECT_EQ(run(config).weights_hash, whole);
}

class EveryTokenPipeline : public TokenOracle, public testing::WithParamInterface<PipelineCase> {};

TEST_P(EveryTokenPipeline, HasTheBitsOfPlainSgd) {
  const session::TrainConfig config = config_of(GetParam());
  const plan::Plan plan = plan_of(config);
  EXPECT_EQ(run(config).weights_hash, oracle(config, plan));
}

INSTANTIATE_TEST_SUITE_P(All, EveryTokenPipeline,
                         testing::Values(PipelineCase{"layerpipe", "", 2},
                                         PipelineCase{"layerpipe", "", 3, 1, "async"},
                                         PipelineCase{"gpipe", "", 2}, PipelineCase{"1f1b", "", 3},
                                         PipelineCase{"zb-h1", "", 4},
                                         PipelineCase{"pipedream", "", 2, 4, "async"}),
                         pipeline_case_name);

}  // namespace
}  // namespace plait::run
