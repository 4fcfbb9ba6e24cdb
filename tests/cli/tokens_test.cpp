// A network on token ids through the verbs of the program, on threads and under mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/mpi_job.hpp"
#include "token_files.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class TokenRun : public ::testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_.path() / "net.toml", kTokenModel);
    token_files(folder_.path());
  }
  static Words words(const Words& more) {
    return Words{"train", "--model", "net.toml", "--data", "npy:tokens", "--batch",
                 "16",    "--json",  "--quiet",  "--pin",  "none",       "--threads",
                 "1",     "--lr",    "0.05",     "--cost", "analytic"} +
           more;
  }
  Json train(const Words& more) const { return result(words(more)); }
  Json result(const Words& all) const {
    const Ended ended = run_plait(folder_.path(), all);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out, nullptr, false);
  }
  std::string refusal(const Words& all) const {
    const Ended ended = run_plait(folder_.path(), all);
    EXPECT_EQ(ended.exit_code, 2) << ended.out;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    return ended.err;
  }
  void put_ids(const std::vector<std::int32_t>& ids) const {
    write_npy(folder_.path() / "tokens" / "test_x.npy", "<i4",
              "(" + std::to_string(ids.size() / 6) + ", 6)", ids);
  }

  TempFolder folder_;
};

TEST_F(TokenRun, IsTrainedEvaluatedResumedAndPlanned) {
  const Json whole = train({"--epochs", "4", "--run-dir", "none"});
  train({"--epochs", "2", "--run-dir", "run"});
  const Json more = train({"--epochs", "4", "--run-dir", "run", "--resume"});
  EXPECT_EQ(more["weights_hash"], whole["weights_hash"]);
  EXPECT_EQ(result({"eval", "--run", "run", "--json"})["test_loss"].is_number(), true);
  const Words pipe{"--strategy", "layerpipe", "--workers", "2", "--microbatches", "2"};
  const Json planned = train(pipe + Words{"--epochs", "2", "--run-dir", "pipe"});
  EXPECT_EQ(train({"--microbatches", "2", "--epochs", "2", "--run-dir", "none"})["weights_hash"],
            planned["weights_hash"]);
  EXPECT_EQ(
      train({"--plan", "pipe/plan.json", "--epochs", "2", "--run-dir", "none"})["weights_hash"],
      planned["weights_hash"]);
  EXPECT_EQ(result({"profile", "--model", "net.toml", "--classes", "4", "--batch", "4", "--threads",
                    "1", "--json"})["blocks"][0]["name"],
            "embedding");
  const Ended show = run_plait(folder_.path(), {"data", "show", "npy:tokens"});
  EXPECT_THAT(show.out, HasSubstr("64 samples of 6 token ids, 4 classes"));
}

TEST_F(TokenRun, HasTheBitsOfThreadsUnderMpirun) {
  if (find_mpirun().empty()) GTEST_SKIP() << "there is no mpirun in PATH";
  for (const char* strategy : {"data_parallel", "layerpipe"}) {
    const Words run_words = words(
        {"--epochs", "1", "--run-dir", "none", "--strategy", strategy, "--microbatches", "2"});
    const Ended ended =
        run({.command = mpirun() + ranks(2, run_words), .directory = folder_.path()});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(Json::parse(ended.out, nullptr, false)["weights_hash"],
              result(run_words + Words{"--workers", "2"})["weights_hash"])
        << strategy;
  }
}

TEST_F(TokenRun, BadIdsAndOtherDataAreOneLine) {
  put_ids({0, 1, 2, 3, 4, 5, 0, 1, 20, 3, 4, 5});
  write_npy<std::int64_t>(folder_.path() / "tokens" / "test_y.npy", "<i8", "(2,)", {0, 1});
  EXPECT_THAT(refusal(words({})),
              HasSubstr("data 'npy:tokens', test sample 1: the token id 20 at position 2 is not "
                        "among the 20 (0 to 19) of block 'embedding'"));
  put_ids({0, 1, 2, 3, 4, 5, 0, -1, 2, 3, 4, 5});
  EXPECT_THAT(refusal(words({})),
              HasSubstr("test_x.npy: sample 1 has the token id -1 at position 1"));
  write_npy<float>(folder_.path() / "tokens" / "test_x.npy", "<f4", "(2, 6)",
                   std::vector<float>(12, 1));
  EXPECT_THAT(refusal(words({})), HasSubstr("inputs of type <f4, but the model reads token ids"));
  EXPECT_THAT(refusal({"train", "--model", "net.toml", "--data", "glyphs"}),
              HasSubstr("data 'glyphs': has images, but the model reads token ids"));
  token_files(folder_.path());
  EXPECT_THAT(refusal(words({"--augment", "flip"})), HasSubstr("the samples are token ids"));
  EXPECT_THAT(refusal({"train", "--model", "mlp:8", "--data", "npy:tokens"}),
              HasSubstr("train_x.npy: inputs of type <i4; expected u1, f4 or f8"));
  EXPECT_THAT(refusal(words({"--strategy", "parareal", "--workers", "2"})),
              HasSubstr("no coarse part leads from the input"));
}

TEST_F(TokenRun, GoesOutAndComesBack) {
  train({"--epochs", "1", "--run-dir", "run"});
  const Ended out = run_plait(folder_.path(), {"export", "--run", "run", "--out", "net.onnx"});
  if (out.err.find("built without") != std::string::npos) GTEST_SKIP() << out.err;
  EXPECT_EQ(out.exit_code, 0) << out.err;
  const Ended back = run_plait(folder_.path(), {"import", "net.onnx", "--out", "back"});
  EXPECT_EQ(back.exit_code, 0) << back.err;
  const std::string text = read_text(folder_.path() / "back" / "model.toml");
  EXPECT_THAT(text, HasSubstr("input_type = \"int32\""));
  EXPECT_THAT(text, HasSubstr("type = \"embedding\", vocabulary = 20, width = 8"));
  const Json again = result({"eval", "--model", "back/model.toml", "--init",
                             "back/weights.safetensors", "--data", "npy:tokens", "--json"});
  EXPECT_EQ(again["test_loss"], result({"eval", "--run", "run", "--json"})["test_loss"]);
}

}  // namespace
}  // namespace plait::cli
