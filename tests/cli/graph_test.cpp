// A network that is no chain through every verb: trained, resumed, planned, measured, evaluated,
// pruned, exported and imported again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/whole_run.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGraph = R"(
[[block]]
name = "stem"
layers = [{type = "convolution", out = 8, kernel = 5, stride = 2}, {type = "relu"}]
[[block]]
name = "left"
layers = [{type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}]
[[block]]
name = "right"
inputs = ["stem"]
layers = [{type = "convolution", out = 5, kernel = 1}]
[[block]]
name = "join"
inputs = ["left", "right", "stem"]
layers = [{type = "concat"}, {type = "relu"}]
[[block]]
name = "fc"
layers = [{type = "flatten"}, {type = "linear", out = "classes"}]
)";

class GraphRun : public WholeRun {
 protected:
  void SetUp() override { write_text(path("graph.toml"), kGraph); }
  /// What a verb that must succeed prints.
  std::string output(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out;
  }
  static Words graph(const Words& words) { return Words{"--model", "graph.toml"} + words; }
};

TEST_F(GraphRun, IsEvaluatedAsItWasTrained) {
  const Json trained = train(graph({"--epochs", "1", "--run-dir", "run", "--strategy", "1f1b",
                                    "--workers", "2", "--microbatches", "2"}));
  const Json json = Json::parse(output({"eval", "--run", "run", "--json"}), nullptr, false);
  EXPECT_EQ(json["test_loss"], trained["test_loss"]);
}

TEST_F(GraphRun, ResumesAndRunsItsPlan) {
  const Words pipe{"--strategy", "layerpipe", "--pipeline", "async", "--workers", "3"};
  const std::string whole = hash(graph(pipe + Words{"--epochs", "2", "--run-dir", "none"}));
  train(graph(pipe + Words{"--epochs", "1", "--run-dir", "run"}));
  EXPECT_EQ(hash(graph(pipe + Words{"--epochs", "2", "--run-dir", "run", "--resume"})), whole);
  EXPECT_EQ(hash(graph({"--plan", "run/plan.json", "--epochs", "2", "--run-dir", "none"})), whole);
}

TEST_F(GraphRun, GoesOutAndComesBack) {
  const Json trained = train(graph({"--epochs", "1", "--run-dir", "run"}));
  output({"export", "--run", "run", "--out", "w.safetensors"});
  const Words data{"--data",  "glyphs", "--train-limit", "512", "--test-limit", "128",
                   "--batch", "16",     "--threads",     "1",   "--json"};
  const auto loss_of = [&](const Words& words) {
    return Json::parse(output(Words{"eval"} + words + data), nullptr, false)["test_loss"];
  };
  EXPECT_EQ(loss_of(graph({"--init", "w.safetensors"})), trained["test_loss"]);
  const Ended onnx =
      run_plait(folder_.path(), {"export", "--run", "run", "--out", "w.onnx", "--onnx"});
  if (onnx.err.find("without libonnx") != std::string::npos) GTEST_SKIP() << onnx.err;
  EXPECT_EQ(onnx.exit_code, 0) << onnx.err;
  EXPECT_EQ(loss_of(graph({"--init", "w.onnx"})), trained["test_loss"]);
}

TEST_F(GraphRun, IsPlannedMeasuredAndPruned) {
  const Words shape{"--data-shape", "1x28x28", "--batch", "16"};
  EXPECT_THAT(output(Words{"models", "graph.toml", "--data-shape", "1x28x28"}),
              HasSubstr("[left, right, stem] concat, relu"));
  EXPECT_THAT(output(Words{"plan"} + graph(shape) +
                     Words{"--workers", "2", "--cost", "analytic", "--strategies", "1f1b"}),
              HasSubstr("1f1b"));
  EXPECT_THAT(output(Words{"profile"} + graph(shape) + Words{"--threads", "1", "--steps", "2"}),
              HasSubstr("join"));
  train(graph({"--epochs", "1", "--run-dir", "run"}));
  output({"prune", "--run", "run", "--sparsity", "0.5", "--out", "pruned"});
}

TEST_F(GraphRun, NamesWhatPararealCannotTear) {
  const Ended ended =
      run_plait(folder_.path(),
                kSmall + graph({"--strategy", "parareal", "--workers", "2", "--run-dir", "none"}));
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("needs a block before the head, which begins with 'left', and "
                                   "there is 'stem' only"));
}

}  // namespace
}  // namespace plait::cli
