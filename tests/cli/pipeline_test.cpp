// Pipelines from the command line: the bits of threads under mpirun, the tables and pictures for
// people, and what is refused.
#include <gmock/gmock.h>

#include "cli/pipeline_job.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

TEST_F(PipelineCli, ProcessesGiveTheBitsOfThreads) {
  const Words mlp{"--model",       "mlp:32-32-32-32-32-32-32-32-32",
                  "--data",        "glyphs",
                  "--train-limit", "200",
                  "--test-limit",  "32"};
  for (const int workers : {2, 3, 4, 8}) {
    expect_equal({"layerpipe", "sync", 4, workers}, mlp);
    expect_equal({"layerpipe", "async", 1, workers}, mlp);
  }
  expect_equal({"pipedream-replicated", "async", 4, 3}, mlp);
  expect_equal({"zb-h2", "sync", 4, 4}, mlp);
}

/// With counted costs there are two replicas of all of resnet20, each with every other microbatch.
TEST_F(PipelineCli, ProcessesGiveTheBitsOfThreadsWithReplicas) {
  const Words counted{"--cost", "analytic"};
  const Words resnet = Words{"--model", "resnet20"} + images() + counted;
  const Json replicated = expect_equal({"layerpipe-replicated", "sync", 4, 2}, resnet);
  const Json pure = expect_equal({"layerpipe", "sync", 4, 2}, resnet);
  EXPECT_NE(replicated["weights_hash"], pure["weights_hash"]) << "replicas add in another order";
  const Words lenet{"--model",       "lenet", "--data",       "glyphs",
                    "--train-limit", "100",   "--test-limit", "32"};
  expect_equal({"layerpipe-replicated", "async", 4, 4}, lenet + counted);
}

TEST_F(PipelineCli, ProcessesDropTheRateOnAPlateauAsThreadsDo) {
  const Words mlp{"--model",      "mlp:32-32", "--data", "glyphs",   "--train-limit", "160",
                  "--test-limit", "100",       "--cost", "analytic", "--lr",          "0.3"};
  const Words plateau{"--schedule", "plateau", "--plateau-patience", "0"};
  const PipelineJob one{"layerpipe", "async", 1, 2, 6};
  const Json dropped = expect_equal(one, mlp + plateau);
  EXPECT_NE(dropped["weights_hash"], expect_equal(one, mlp)["weights_hash"]);
}

TEST_F(PipelineCli, ProcessesGiveTheBitsOfThreadsOnImagesToo) {
  for (const char* model : {"resnet20", "vgg11"}) {
    const Words network = Words{"--model", model} + images();
    expect_equal({"layerpipe", "sync", 4, 3}, network);
    expect_equal({"layerpipe", "async", 1, 4}, network);
  }
}

TEST_F(PipelineCli, ProcessesGiveTheBitsOfThreadsWithTiedWeights) {
  write_text(path("tied.toml"), R"(
[[block]]
name = "stem"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"}]
[[block]]
name = "large"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm", weights = "stem.bn"}, {type = "relu"}]
[[block]]
name = "pool"
layers = [{type = "max_pool", kernel = 2}]
[[block]]
name = "small"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1, weights = "large.conv"}, {type = "relu"}]
[[block]]
name = "smaller"
layers = [{type = "max_pool", kernel = 2}, {type = "convolution", out = 8, kernel = 3, padding = 1, weights = "small"}, {type = "relu"}]
[[block]]
name = "fc"
layers = [{type = "global_average_pool"}, {type = "flatten"}, {type = "linear", out = "classes"}]
)");
  const Words network = Words{"--model", "tied.toml"} + images();
  expect_equal({"1f1b", "sync", 4, 3}, network);
  expect_equal({"layerpipe", "sync", 4, 4}, network);
  expect_equal({"layerpipe", "async", 1, 3}, network);
  expect_equal({"data_parallel", "sync", 1, 2}, network);
  const Ended shown =
      run({.command = {PLAIT_BINARY, "models", "tied.toml", "--data-shape", "3x32x32"},
           .directory = folder_.path()});
  EXPECT_THAT(shown.out, HasSubstr("(weights of large.conv)"));
  for (const char* strategy : {"parareal", "sparse_rows"}) {
    const Words all =
        Words{PLAIT_BINARY} + words({strategy, "sync", 1, 2}, network) + Words{"--workers", "2"};
    const Ended ended = run({.command = all, .directory = folder_.path()});
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.err, HasSubstr("large.bn uses those of stem.bn, small.conv uses those of "
                                     "large.conv"));
  }
}

TEST_F(PipelineCli, TablesAndAPictureBeforeAndAfter) {
  const Words all{PLAIT_BINARY,
                  "train",
                  "--model",
                  "lenet",
                  "--data",
                  "glyphs",
                  "--batch",
                  "16",
                  "--steps",
                  "12",
                  "--threads",
                  "1",
                  "--workers",
                  "3",
                  "--strategy",
                  "layerpipe",
                  "--pipeline",
                  "async",
                  "--run-dir",
                  "none",
                  "--test-limit",
                  "32",
                  "--schedule-picture",
                  "run.svg"};
  const Ended ended = run({.command = all, .directory = folder_.path()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("layerpipe, planned"));
  EXPECT_THAT(ended.err, HasSubstr("layerpipe, measured:"));
  EXPECT_THAT(ended.err, HasSubstr("worker  tasks"));
  EXPECT_THAT(ended.err, HasSubstr("F conv1"));
  EXPECT_THAT(read_text(path("run.svg")), HasSubstr("<svg"));

  const Words planned{PLAIT_BINARY,         "plan",      "--model", "vgg11", "--workers",      "4",
                      "--strategies",       "layerpipe", "--batch", "32",    "--microbatches", "8",
                      "--schedule-picture", "plan.svg"};
  const Ended plan = run({.command = planned, .directory = folder_.path()});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("busy"));
  EXPECT_THAT(plan.out, HasSubstr("worker  tasks"));
  EXPECT_THAT(read_text(path("plan.svg")), HasSubstr("<svg"));
}

TEST_F(PipelineCli, RefusesInOneLineWithTheNearestValueThatWorks) {
  const auto refusal = [&](const Words& words) {
    const Ended ended = run({.command = Words{PLAIT_BINARY} + words, .directory = folder_.path()});
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    return ended.err;
  };
  const Words lenet{"train",   "--model", "lenet",     "--data", "glyphs",
                    "--batch", "16",      "--run-dir", "none",   "--quiet"};
  EXPECT_THAT(refusal(lenet + Words{"--strategy", "gpipe", "--workers", "9"}),
              HasSubstr("use at most 8 workers"));
  EXPECT_THAT(refusal(lenet + Words{"--strategy", "layerpipe", "--workers", "2",
                                    "--memory-per-worker", "1"}),
              HasSubstr("use --memory-per-worker "));
  EXPECT_THAT(
      refusal(lenet + Words{"--strategy", "layerpipe", "--workers", "2", "--clip-norm", "1"}),
      HasSubstr("--clip-norm"));
  EXPECT_THAT(
      refusal(lenet + Words{"--strategy", "gpipe", "--workers", "2", "--pipeline", "async"}),
      HasSubstr("gpipe has no such option"));
  EXPECT_THAT(
      refusal(lenet + Words{"--strategy", "layerpipe", "--workers", "2", "--weights", "rebuilt"}),
      HasSubstr("--pipeline async"));
  EXPECT_THAT(refusal(lenet + Words{"--pipeline", "asink", "--strategy", "layerpipe"}),
              HasSubstr("did you mean"));
  EXPECT_THAT(refusal(lenet + Words{"--weights", "stach", "--strategy", "layerpipe"}),
              HasSubstr("did you mean"));
  const Words layerpipe = lenet + Words{"--strategy", "layerpipe", "--workers", "2"};
  EXPECT_THAT(refusal(layerpipe + Words{"--max-staleness", "1"}), HasSubstr("--pipeline async"));
  EXPECT_THAT(refusal(layerpipe + Words{"--pipeline", "async", "--max-staleness", "old"}),
              HasSubstr("--max-staleness old"));
  EXPECT_THAT(refusal(lenet + Words{"--strategy", "gpipe", "--max-staleness", "1"}),
              HasSubstr("gpipe has no such option"));
}

TEST_F(PipelineCli, IsNoStalerThanPipeDreamUnlessAskedFor) {
  const Words plan{"plan",  "--model", "lenet",        "--workers", "2,3,4",        "--pipeline",
                   "async", "--json",  "--strategies", "layerpipe", "--data-shape", "1x28x28"};
  const auto stalest = [&](const Words& more) {
    const Ended ended =
        run({.command = Words{PLAIT_BINARY} + plan + more, .directory = folder_.path()});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = Json::parse(ended.out);
    std::vector<int> delays;
    for (const Json& one : result["plans"]) delays.push_back(one["staleness_max"]);
    return delays;
  };
  const std::vector<int> usual = stalest({});
  ASSERT_EQ(usual.size(), 3U);
  for (std::size_t i = 0; i < usual.size(); ++i) EXPECT_LE(usual[i], static_cast<int>(i) + 1);
  EXPECT_THAT(stalest({"--max-staleness", "0"}), ::testing::Each(0));
}

}  // namespace
}  // namespace plait::cli
