// Whole runs of the program: results, equal bits, signals, sudden death, full disks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <random>

#include "checkpoint/safetensors.hpp"
#include "cli/interrupt.hpp"
#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// 32 steps per epoch.
const Words kSmall{"train", "--model",      "lenet", "--data",  "glyphs", "--train-limit",
                   "512",   "--test-limit", "128",   "--batch", "16",     "--threads",
                   "1",     "--lr",         "0.01",  "--json",  "--quiet"};

class Run : public ::testing::Test {
 protected:
  /// The JSON object of a run that must succeed.
  Json train(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), kSmall + words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(std::ranges::count(ended.out, '\n'), 1);
    return Json::parse(ended.out, nullptr, false);
  }
  std::string hash(const Words& words) const { return train(words).value("weights_hash", "?"); }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  TempFolder folder_;
};

TEST_F(Run, GivesEveryFieldAndEqualBits) {
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

TEST_F(Run, StdoutIsEmptyWithoutJsonAndEpochsGoToStderr) {
  Words words = kSmall + Words{"--epochs", "2", "--no-json", "--no-quiet"};
  const Ended ended = run_plait(folder_.path(), words);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("\nepoch 1/2  train loss "));
  EXPECT_THAT(ended.err, HasSubstr("\nepoch 2/2  train loss "));
  EXPECT_THAT(ended.err, HasSubstr("next: plait eval --run runs/001-lenet"));
  EXPECT_EQ(ended.err.find('\x1b'), std::string::npos) << "colours without a terminal";
}

TEST_F(Run, RunDirNoneWritesNothing) {
  EXPECT_EQ(train({"--epochs", "1", "--run-dir", "none"})["run_dir"], "");
  EXPECT_EQ(entries_in(folder_.path()), 0U);
}

TEST_F(Run, EvalMeasuresWhatTheRunMeasured) {
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

TEST_F(Run, ResumeRefusesAnotherRecipeAndGoesOnOtherwise) {
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
TEST_F(Run, ResumingAFinishedRunLeavesItAsItIs) {
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

TEST_F(Run, AResumedRunHasAMedianStep) {
  train({"--epochs", "1", "--run-dir", "run"});
  EXPECT_GT(train({"--epochs", "4", "--run-dir", "run", "--resume"})["step_seconds"], 0.0);
}

TEST_F(Run, AConfigThatIsNotTheRunsIsRefused) {
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
TEST_F(Run, FilesOfARunMayMove) {
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

TEST_F(Run, ARunIsReadFromAnyFolder) {
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

TEST_F(Run, AFolderThatMovedWithItsFilesStillWorks) {
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

TEST_F(Run, AnotherStrategyWithOtherWeightsIsNamed) {
  train({"--epochs", "1", "--run-dir", "run"});
  const Ended ended = run_plait(folder_.path(), {"train", "--resume", "--run-dir", "run",
                                                 "--strategy", "parareal", "--workers", "2"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err,
              HasSubstr("cannot resume with --strategy parareal: run/config.toml says serial"));
}

TEST_F(Run, MoreThreadsThanCoresAreOneWarning) {
  const Words words{"train", "--model",      "linear", "--data",    "glyphs", "--train-limit",
                    "64",    "--test-limit", "32",     "--batch",   "32",     "--epochs",
                    "1",     "--threads",    "200",    "--run-dir", "none"};
  const Ended ended = run_plait(folder_.path(), words);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(plait_lines(ended.err).size(), 1u) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("plait: warning: 200 threads on "));
  EXPECT_TRUE(plait_lines(run_plait(folder_.path(), words + Words{"--quiet"}).err).empty());
}

TEST_F(Run, WeightsThatAreNotNumbersAreNamed) {
  train({"--epochs", "1", "--run-dir", "run", "--model", "linear"});
  run_plait(folder_.path(), {"export", "--run", "run", "--out", "w.safetensors"});
  std::vector<checkpoint::NamedTensor> weights =
      checkpoint::read_safetensors(path("w.safetensors")).tensors;
  weights.back().tensor.floats()[3] = std::nanf("");
  checkpoint::write_safetensors(path("bad.safetensors"), weights);
  const std::string reason =
      fmt::format("bad.safetensors: tensor '{}' holds nan (element 4 of ", weights.back().name);
  const Words init{"--model", "linear", "--init", "bad.safetensors"};
  const Ended ended = run_plait(folder_.path(), kSmall + init + Words{"--run-dir", "none"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr(reason));
  const Ended eval = run_plait(folder_.path(), Words{"eval"} + init);
  EXPECT_EQ(eval.exit_code, 1);
  EXPECT_EQ(eval.out, "");
  EXPECT_THAT(eval.err, HasSubstr(reason));
}

TEST_F(Run, ADamagedCheckpointThatMayBeTheBestIsNotSkipped) {
  train({"--epochs", "2", "--run-dir", "run"});
  write_text(path("run/checkpoints/step-000000064/state.json"), "{");
  const Ended ended = run_plait(folder_.path(), {"eval", "--run", "run"});
  EXPECT_EQ(ended.exit_code, 2) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("step-000000064/state.json"));
}

TEST_F(Run, AReaderThatHasSeenEnoughIsNoFailure) {
  const Ended ended =
      run({.command = {"/bin/bash", "-c",
                       std::string(PLAIT_BINARY) + " --man | true; exit ${PIPESTATUS[0]}"},
           .directory = folder_.path()});
  EXPECT_EQ(ended.err, "");
}

TEST_F(Run, SignalsEndItWithACheckpointAndTheWayOn) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string dir = fmt::format("run{}", signal);
    Process process =
        plait_process(folder_.path(), kSmall + Words{"--epochs", "100000", "--run-dir", dir});
    process.signal = signal;
    process.signal_file = path(dir) / "metrics.jsonl";
    process.signal_after_seconds = 0.3;
    const Ended ended = run(process);
    EXPECT_EQ(ended.exit_code, 128 + signal) << ended.err;
    EXPECT_THAT(ended.err,
                HasSubstr("continue with: plait train --resume --run-dir " + dir + "\n"));
    const Json json = Json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << ended.out;
    EXPECT_EQ(json["interrupted"], true);
    const std::string steps = std::to_string(json["steps"].get<int>() + 5);
    EXPECT_EQ(hash({"--steps", steps, "--resume", "--run-dir", dir}),
              hash({"--steps", steps, "--run-dir", "none"}));
  }
}

TEST(Interrupt, TheSecondSignalEndsAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    const InterruptGuard guard;
    raise(SIGINT);
    if (!guard.flag()->load() || guard.signal() != SIGINT) _exit(1);
    raise(SIGTERM);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(Run, SurvivesSuddenDeathAtTenRandomMoments) {
  const Words task{"--epochs", "5", "--checkpoint-every", "7"};
  const Ended whole = run_plait(folder_.path(), kSmall + task + Words{"--run-dir", "whole"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string wanted = Json::parse(whole.out, nullptr, false)["weights_hash"];
  std::mt19937 random(20210813);
  // Of how long a run takes at the moment: the machine may become quicker or slower meanwhile.
  double window = whole.seconds * 0.7;
  std::uniform_real_distribution<double> share(0, 1);
  int kills = 0;
  for (int folder = 0; kills < 10 && folder < 40; ++folder) {
    const Words words =
        kSmall + task + Words{"--resume", "--run-dir", fmt::format("run{}", folder)};
    Ended ended;
    while (kills < 10) {
      Process process = plait_process(folder_.path(), words);
      process.signal = SIGKILL;
      process.signal_after_seconds = window * share(random);
      ended = run(process);
      if (ended.signal != SIGKILL) {
        window *= 0.7;
        break;
      }
      ++kills;
    }
    if (ended.signal == SIGKILL) ended = run_plait(folder_.path(), words);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(Json::parse(ended.out, nullptr, false)["weights_hash"], wanted);
  }
  EXPECT_EQ(kills, 10);
}

TEST_F(Run, StopsWhereNumbersAreNotFiniteAndKeepsTheLastGoodCheckpoint) {
  // 1 - 0.01 x 800 = -7: every step makes every weight so many times larger.
  const Ended ended =
      run_plait(folder_.path(), kSmall + Words{"--model", "linear", "--epochs", "2", "--run-dir",
                                               "run", "--momentum", "0", "--weight-decay", "800"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, ::testing::ContainsRegex("loss is .* at step [0-9]+; block '"));
  EXPECT_THAT(ended.err, HasSubstr("the last good checkpoint is run/checkpoints/step-000000032"));
  const Ended eval = run_plait(folder_.path(), {"eval", "--run", "run"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
}

TEST_F(Run, AHugeLearningRateIsNamedWithBlockAndStep) {
  const Ended ended = run_plait(folder_.path(), kSmall + Words{"--epochs", "1", "--lr", "1e20"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" at step "));
  EXPECT_THAT(ended.err, HasSubstr("block '"));
}

TEST_F(Run, AFullDiskKeepsTheOldCheckpoint) {
  const std::string wanted = hash({"--epochs", "2", "--run-dir", "none"});
  train({"--epochs", "1", "--run-dir", "run"});
  const Words more = kSmall + Words{"--epochs", "2", "--run-dir", "run", "--resume"};
  Process process = plait_process(folder_.path(), more);
  process.file_size_limit = 16 << 10;
  const Ended full = run(process);
  EXPECT_EQ(full.exit_code, 2) << full.err;
  EXPECT_EQ(full.out, "");
  EXPECT_EQ(std::ranges::count(full.err, '\n'), 1) << full.err;
  EXPECT_THAT(full.err, ::testing::StartsWith("plait: "));
  EXPECT_EQ(run_plait(folder_.path(), {"eval", "--run", "run"}).exit_code, 0);
  EXPECT_EQ(hash({"--epochs", "2", "--run-dir", "run", "--resume"}), wanted);
}

TEST_F(Run, ProfileHasItsFields) {
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

TEST_F(Run, VerbsThatOnlyShow) {
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
  shows({"profile", "--model", "linear", "--batch", "4", "--threads", "1"}, "total");
  EXPECT_EQ(entries_in(folder_.path()), 0U);
}

TEST_F(Run, AResultThatCannotBePrintedIsAFailure) {
  const Ended ended =
      run({.command = {"/bin/sh", "-c", std::string(PLAIT_BINARY) + " models > /dev/full"},
           .directory = folder_.path()});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.err, "plait: cannot write to stdout\n");
}

/// The training is done and its weights are kept: what else cannot be written is a warning.
TEST_F(Run, FilesBesideTheResultThatCannotBeWrittenAreWarnings) {
  for (const char* file : {"trace.json", "report.json", "report.html"}) {
    const std::string run_dir = std::string("run-") + file;
    std::filesystem::create_directories(path(run_dir) / file / "in the way");
    const Ended ended = run_plait(
        folder_.path(), kSmall + Words{"--epochs", "1", "--resume", "--run-dir", run_dir});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(Json::parse(ended.out, nullptr, false).value("epochs", 0), 1) << ended.out;
    EXPECT_THAT(ended.err, ::testing::StartsWith("plait: warning: "));
    EXPECT_THAT(ended.err, HasSubstr(run_dir + "/" + file));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
  Process process = plait_process(
      folder_.path(),
      kSmall + Words{"--epochs", "1", "--run-dir", "none", "--schedule-picture", "last.svg"});
  process.file_size_limit = 1 << 10;
  const Ended ended = run(process);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out, nullptr, false).value("epochs", 0), 1) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("plait: warning: cannot write 'last.svg'"));
}

/// A limit on the size of files must not kill the process before it can say so.
TEST_F(Run, AFileSizeLimitIsAnErrorOfTheWrite) {
  const Ended ended = run({.command = {"/bin/sh", "-c",
                                       "ulimit -f 16; exec " + std::string(PLAIT_BINARY) +
                                           " train --model lenet --data glyphs --train-limit 64 "
                                           "--test-limit 16 --batch 16 --threads 1 --epochs 1 "
                                           "--quiet --run-dir limited"},
                           .directory = folder_.path()});
  EXPECT_EQ(ended.signal, 0);
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, ::testing::StartsWith("plait: "));
}

}  // namespace
}  // namespace plait::cli
