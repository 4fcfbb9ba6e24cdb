// Run folders: resumed, moved, read from elsewhere, and refused where they are not what they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cli/whole_run.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using RunFolder = WholeRun;

TEST_F(RunFolder, ResumeRefusesAnotherRecipeAndGoesOnOtherwise) {
  train({"--epochs", "1", "--run-dir", "run"});
  const Ended changed = run_plait(
      folder_.path(), {"train", "--resume", "--run-dir", "run", "--lr", "0.7", "--quiet"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err,
              HasSubstr("cannot resume with another lr: run/config.toml says 0.01, now it is 0.7"));
  const Ended twice = run_plait(folder_.path(), kSmall + Words{"--run-dir", "run"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("--resume"));
  EXPECT_EQ(hash({"--epochs", "3", "--run-dir", "run", "--resume"}),
            hash({"--epochs", "3", "--run-dir", "none"}));
}

/// A queue that starts a finished job again must not cost its report.
TEST_F(RunFolder, ResumingAFinishedRunLeavesItAsItIs) {
  const Json first = train({"--epochs", "2", "--run-dir", "run"});
  std::map<std::string, std::string> before;
  for (const char* file : {"report.json", "report.html", "trace.json", "config.toml"}) {
    before[file] = read_text(path("run") / file);
  }
  const Ended again = run_plait(folder_.path(), {"train", "--resume", "--run-dir", "run"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("nothing left to do: 2 epoch(s), 64 step(s) are done"));
  EXPECT_THAT(again.err, HasSubstr(std::string(first["weights_hash"])));
  const Ended shorter =
      run_plait(folder_.path(), {"train", "--resume", "--run-dir", "run", "--epochs", "1"});
  EXPECT_EQ(shorter.exit_code, 2);
  EXPECT_THAT(shorter.err, HasSubstr("is at step 64, behind the end at step 32"));
  for (const auto& [file, text] : before) EXPECT_EQ(read_text(path("run") / file), text) << file;
}

TEST_F(RunFolder, AResumedRunHasAMedianStep) {
  train({"--epochs", "1", "--run-dir", "run"});
  EXPECT_GT(train({"--epochs", "4", "--run-dir", "run", "--resume"})["step_seconds"], 0.0);
}

TEST_F(RunFolder, AConfigThatIsNotTheRunsIsRefused) {
  train({"--epochs", "1", "--run-dir", "run"});
  const std::string config = read_text(path("run/config.toml"));
  for (const std::string& text : {std::string(), config.substr(0, config.find("batch ="))}) {
    write_text(path("run/config.toml"), text);
    for (const Words& words : {Words{"train", "--resume", "--run-dir", "run", "--epochs", "2"},
                               Words{"eval", "--run", "run"}}) {
      const Ended ended = run_plait(folder_.path(), words);
      EXPECT_EQ(ended.exit_code, 2) << ended.err;
      EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
      EXPECT_THAT(ended.err, HasSubstr("run/config.toml: "));
      EXPECT_THAT(ended.err, HasSubstr("is missing, but the run was made with"));
    }
    EXPECT_EQ(read_text(path("run/config.toml")), text);
  }
}

/// Scratch folders move: config.toml is the place to say where things are now.
TEST_F(RunFolder, FilesOfARunMayMove) {
  const std::string model =
      "[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 10}]\n";
  write_text(path("here.toml"), model);
  const Words words{"--model", "here.toml", "--run-dir", "run"};
  train(words + Words{"--epochs", "1"});
  std::filesystem::create_directory(path("there"));
  std::filesystem::rename(path("here.toml"), path("there/here.toml"));
  const Words on{"train", "--resume", "--run-dir", "run", "--epochs", "2", "--quiet"};
  EXPECT_THAT(run_plait(folder_.path(), on).err, HasSubstr("here.toml"));
  std::string config = read_text(path("run/config.toml"));
  config.replace(config.find("here.toml"), 9, "there/here.toml");
  write_text(path("run/config.toml"), config);
  const Ended ended = run_plait(folder_.path(), on);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  write_text(path("there/here.toml"),
             "[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 10}, {type = "
             "\"relu\"}]\n");
  const Ended other = run_plait(
      folder_.path(), {"train", "--resume", "--run-dir", "run", "--epochs", "3", "--quiet"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("of another model"));
}

TEST_F(RunFolder, ARunIsReadFromAnyFolder) {
  std::filesystem::create_directory(path("models"));
  std::filesystem::create_directory(path("elsewhere"));
  write_text(path("models/small.toml"),
             "[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 10}]\n");
  const Words words{"--model", "models/small.toml"};
  const Json first = train(words + Words{"--epochs", "1", "--run-dir", "run"});
  const Ended eval = run_plait(path("elsewhere"), {"eval", "--run", "../run", "--json"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(Json::parse(eval.out, nullptr, false)["test_loss"], first["test_loss"]);
  const Ended more = run_plait(path("elsewhere"), {"train", "--resume", "--run-dir", "../run",
                                                   "--epochs", "2", "--json", "--quiet"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(Json::parse(more.out, nullptr, false)["weights_hash"],
            hash(words + Words{"--epochs", "2", "--run-dir", "none"}));
  // Where it was made, and with another spelling of the same file.
  const Ended here = run_plait(folder_.path(), {"train", "--resume", "--run-dir", "run", "--model",
                                                "./models/small.toml", "--epochs", "3", "--quiet"});
  EXPECT_EQ(here.exit_code, 0) << here.err;
}

TEST_F(RunFolder, AFolderThatMovedWithItsFilesStillWorks) {
  std::filesystem::create_directory(path("project"));
  write_text(path("project/small.toml"),
             "[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 10}]\n");
  const Ended made = run_plait(path("project"), kSmall + Words{"--model", "small.toml", "--epochs",
                                                               "1", "--run-dir", "run"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  std::filesystem::rename(path("project"), path("moved"));
  const Ended eval = run_plait(path("moved"), {"eval", "--run", "run"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
}

TEST_F(RunFolder, AnotherStrategyWithOtherWeightsIsNamed) {
  train({"--epochs", "1", "--run-dir", "run"});
  const Ended ended = run_plait(folder_.path(), {"train", "--resume", "--run-dir", "run",
                                                 "--strategy", "parareal", "--workers", "2"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err,
              HasSubstr("cannot resume with --strategy parareal: run/config.toml says serial"));
}

TEST_F(RunFolder, ADamagedCheckpointThatMayBeTheBestIsNotSkipped) {
  train({"--epochs", "2", "--run-dir", "run"});
  write_text(path("run/checkpoints/step-000000064/state.json"), "{");
  const Ended ended = run_plait(folder_.path(), {"eval", "--run", "run"});
  EXPECT_EQ(ended.exit_code, 2) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("step-000000064/state.json"));
}

}  // namespace
}  // namespace plait::cli
