// Whole runs of the program: results, equal bits, what is printed where.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/whole_run.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using RunResult = WholeRun;

TEST_F(RunResult, GivesEveryFieldAndEqualBits) {
  const Json first = train({"--epochs", "1"});
  for (const char* field : {"model", "strategy", "workers", "epochs", "steps", "train_loss",
                            "test_loss", "test_accuracy", "seconds", "images_per_second",
                            "bytes_sent", "messages_sent", "peak_memory_bytes", "weights_hash",
                            "staleness_max", "utilisation", "run_dir", "threads"}) {
    EXPECT_TRUE(first.contains(field)) << field;
  }
  EXPECT_EQ(first["steps"], 32);
  EXPECT_EQ(first["epochs"], 1);
  EXPECT_EQ(first["threads"], 1);
  EXPECT_GT(first["images_per_second"], 0);
  EXPECT_TRUE(std::filesystem::exists(path(first["run_dir"]) / "config.toml"));
  EXPECT_EQ(hash({"--epochs", "1"}), first["weights_hash"]);
  EXPECT_NE(hash({"--epochs", "1", "--seed", "2"}), first["weights_hash"]);
  const std::string config = (path(first["run_dir"]) / "config.toml").string();
  const Ended again = run_plait(folder_.path(), {"train", "--config", config, "--json", "--quiet"});
  EXPECT_EQ(Json::parse(again.out, nullptr, false)["weights_hash"], first["weights_hash"]);
}

TEST_F(RunResult, StdoutIsEmptyWithoutJsonAndEpochsGoToStderr) {
  Words words = kSmall + Words{"--epochs", "2", "--no-json", "--no-quiet"};
  const Ended ended = run_plait(folder_.path(), words);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("\nepoch 1/2  train loss "));
  EXPECT_THAT(ended.err, HasSubstr("\nepoch 2/2  train loss "));
  EXPECT_THAT(ended.err, HasSubstr("next: plait eval --run runs/001-lenet"));
  EXPECT_EQ(ended.err.find('\x1b'), std::string::npos) << "colours without a terminal";
}

TEST_F(RunResult, RunDirNoneWritesNothing) {
  EXPECT_EQ(train({"--epochs", "1", "--run-dir", "none"})["run_dir"], "");
  EXPECT_EQ(entries_in(folder_.path()), 0U);
}

TEST_F(RunResult, EvalMeasuresWhatTheRunMeasured) {
  const Json trained = train({"--epochs", "1", "--run-dir", "run"});
  const Ended by_run = run_plait(folder_.path(), {"eval", "--run", "run", "--json"});
  const Json json = Json::parse(by_run.out, nullptr, false);
  EXPECT_EQ(json["test_loss"], trained["test_loss"]) << by_run.err;
  EXPECT_EQ(json["test_accuracy"], trained["test_accuracy"]);
  const std::string weights = json["weights"];
  const Ended by_file =
      run_plait(folder_.path(),
                {"eval", "--model", "lenet", "--data", "glyphs", "--train-limit", "512",
                 "--test-limit", "128", "--batch", "16", "--threads", "1", "--init", weights});
  EXPECT_EQ(by_file.exit_code, 0) << by_file.err;
  EXPECT_THAT(by_file.out,
              HasSubstr(fmt::format("test_loss      {:.6f}\n", double(trained["test_loss"]))));
}

TEST_F(RunResult, MoreThreadsThanCoresAreOneWarning) {
  const Words words{"train", "--model",      "linear", "--data",    "glyphs", "--train-limit",
                    "64",    "--test-limit", "32",     "--batch",   "32",     "--epochs",
                    "1",     "--threads",    "200",    "--run-dir", "none"};
  const Ended ended = run_plait(folder_.path(), words);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(plait_lines(ended.err).size(), 1u) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("plait: warning: 200 threads on "));
  EXPECT_TRUE(plait_lines(run_plait(folder_.path(), words + Words{"--quiet"}).err).empty());
}

TEST_F(RunResult, ProfileHasItsFields) {
  const Ended ended = run_plait(folder_.path(), {"profile", "--model", "lenet", "--batch", "8",
                                                 "--threads", "1", "--steps", "2", "--json"});
  const Json json = Json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ended.err;
  for (const char* field : {"format", "model", "network_hash", "data_shape", "classes", "batch",
                            "threads", "steps", "loss_ms", "sum_ms", "step_ms"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  ASSERT_FALSE(json["blocks"].empty());
  for (const char* field : {"name", "forward_ms", "backward_data_ms", "backward_weights_ms",
                            "update_ms", "macs", "parameters", "dst_bytes"}) {
    EXPECT_TRUE(json["blocks"][0].contains(field)) << field;
  }
}

TEST_F(RunResult, VerbsThatOnlyShow) {
  const auto shows = [&](const Words& words, const std::string& text) {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_THAT(ended.out, HasSubstr(text));
  };
  shows({"--version"}, "plait 0.");
  shows({"--help"}, "Usage: plait VERB");
  for (const char* verb :
       {"train", "plan", "profile", "eval", "report", "export", "data", "models"}) {
    shows({verb, "--help"}, "Examples:\n  plait " + std::string(verb));
  }
  shows({"data", "fetch", "--help"}, "Usage: plait data fetch NAME");
  shows({"data", "list"}, "cifar10:DIR");
  shows({"data", "show", "glyphs"}, "train  6,000 samples of 1x28x28, 10 classes; per class: ");
  shows({"models"}, "resnet1001");
  shows({"models", "vgg16"}, "3x32x32");
  shows({"models", "--layers"}, "multiply                Mul ");
  const Ended profile =
      run_plait(folder_.path(), {"profile", "--model", "linear", "--batch", "4", "--threads", "1"});
  EXPECT_EQ(profile.exit_code, 0) << profile.err;
  // A busy machine adds a note that the times may be too long.
  EXPECT_THAT(profile.err, MatchesRegex("(note: this machine was busy: steps of equal work were "
                                        "[0-9]+% apart each time.\n      The times may be too "
                                        "long; stop other programs, then profile again\n)?"));
  EXPECT_THAT(profile.out, HasSubstr("total"));
  EXPECT_EQ(entries_in(folder_.path()), 0U);
}

}  // namespace
}  // namespace plait::cli
