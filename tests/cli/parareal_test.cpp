// parareal from the command line: the bits of threads under mpirun, residuals, sweeps of saved
// weights, the export of the serial network, and what is refused.
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "cli/mpi_job.hpp"

namespace plait::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const Words kData{"--data", "glyphs",       "--batch", "32",        "--train-limit",
                  "320",    "--test-limit", "100",     "--threads", "1"};
const Words kModel{"--model", "mlp:32-32-32-32"};
const Words kGoOn{"train",  "--resume", "--steps",   "0",
                  "--json", "--quiet",  "--threads", "1"};  // bits are promised for equal threads

class PararealCli : public MpiTest {
 protected:
  void SetUp() override {}

  static Words torn(const Words& words) {
    return Words{"train", "--strategy", "parareal", "--epochs", "2",
                 "--pin", "none",       "--json",   "--quiet"} +
           kModel + kData + words;
  }
  Json here(const Words& words) const { return result_of(run_plait(folder_.path(), words)); }
  Json train(const Words& words) const { return here(torn(words)); }
  Json eval(const Words& words) const { return here(Words{"eval", "--json"} + words); }
  Json exported(const Words& words) const { return here(Words{"export", "--json"} + words); }
  /// Weights of a serial run in folder "serial".
  std::string serial() const {
    here(Words{"train", "--epochs", "1", "--json", "--quiet", "--run-dir", "serial"} + kModel +
         kData);
    exported({"--run", "serial", "--out", "serial.safetensors"});
    return "serial.safetensors";
  }
  std::string refusal(const Words& words) const {
    const std::size_t before = entries_in(folder_.path());
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, ::testing::StartsWith("plait: "));
    EXPECT_EQ(entries_in(folder_.path()), before) << "something was written";
    return ended.err;
  }
};

TEST_F(PararealCli, ProcessesGiveTheBitsOfThreads) {
  if (find_mpirun().empty()) GTEST_SKIP() << "there is no mpirun in PATH";
  const auto expect_equal = [&](const Words& words, int workers) {
    const Words all = torn(words + Words{"--run-dir", "none"});
    const Json threads = here(all + Words{"--workers", std::to_string(workers)});
    const Json processes = result_of(run(job(ranks(workers, all))));
    for (const char* field :
         {"weights_hash", "bytes_sent", "messages_sent", "train_loss", "test_loss", "residuals"}) {
      EXPECT_EQ(processes[field], threads[field]) << field;
    }
    EXPECT_EQ(processes["workers"], workers);
    EXPECT_EQ(processes["residuals"].empty(), false);
  };
  expect_equal({"--pieces", "3"}, 3);
  expect_equal({"--pieces", "4", "--sweeps", "2", "--microbatches", "3", "--coarse", "conv"}, 3);
  expect_equal({"--pieces", "2", "--replicas", "2", "--residual-wire", "bf16"}, 4);
}

TEST_F(PararealCli, WorkersAndPiecesFollowFromEachOther) {
  const Json pieces = train({"--pieces", "3", "--run-dir", "none"});
  EXPECT_EQ(pieces["workers"], 3);
  const Json workers = train({"--workers", "3", "--run-dir", "none"});
  EXPECT_EQ(workers["weights_hash"], pieces["weights_hash"]);
  EXPECT_EQ(train({"--pieces", "3", "--workers", "1", "--run-dir", "none"})["weights_hash"],
            pieces["weights_hash"]);
  EXPECT_EQ(train({"--pieces", "2", "--replicas", "2", "--run-dir", "none"})["workers"], 4);
  EXPECT_EQ(train({"--pieces", "auto", "--workers", "4", "--run-dir", "none"})["workers"], 4);
}

TEST_F(PararealCli, MetricsHaveTheResiduals) {
  const Json trained = train({"--pieces", "3", "--run-dir", "run"});
  std::istringstream lines(read_text(path("run") / "metrics.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json json = Json::parse(line, nullptr, false);
    ASSERT_TRUE(json["residuals"].is_object()) << line;
    EXPECT_THAT(json["residuals"], SizeIs(2));
    for (const Json& one : json["residuals"]) EXPECT_GT(one, 0);
    if (count == 1) {
      EXPECT_EQ(json["residuals"], trained["residuals"]);
    }
  }
  EXPECT_EQ(count, 2);
}

TEST_F(PararealCli, EvalSweepsAndTheSerialExportMeetAtTheEnd) {
  const Json trained = train({"--pieces", "3", "--run-dir", "run"});
  const Json once = eval({"--run", "run"});
  EXPECT_EQ(once["test_accuracy"], trained["test_accuracy"]);
  EXPECT_EQ(once["test_loss"], trained["test_loss"]);
  EXPECT_THAT(once["residuals"], SizeIs(2));
  const Json thrice = eval({"--run", "run", "--sweeps", "3"});
  EXPECT_THAT(thrice["residuals"], SizeIs(6));
  const Json serial = exported({"--run", "run", "--serial", "--out", "s.safetensors"});
  EXPECT_EQ(serial["test_loss"], thrice["test_loss"]);
  EXPECT_EQ(serial["test_accuracy"], thrice["test_accuracy"]);
  EXPECT_EQ(serial["saved_test_loss"], once["test_loss"]);
  EXPECT_NE(serial["test_loss"], once["test_loss"]);
  EXPECT_EQ(serial["tensors"], 10);
  EXPECT_GT(serial["left_out"], 0);
  // the file is of the plain model, for anybody
  const Json plain = eval(Words{"--init", "s.safetensors"} + kModel + kData);
  EXPECT_EQ(plain["test_loss"], serial["test_loss"]);
  EXPECT_TRUE(plain["residuals"].empty());
  const Json whole = exported({"--run", "run", "--out", "t.safetensors"});
  EXPECT_EQ(whole["left_out"], 0);
  EXPECT_EQ(eval(Words{"--init", "t.safetensors"} + kModel + kData)["test_loss"],
            once["test_loss"]);
}

TEST_F(PararealCli, EverySweepOfATrainingKeepsItsRunningStatistics) {
  std::ofstream(path("model.toml")) << R"(
[[block]]
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"} ]
[[block]]
layers = [ {type = "convolution", out = 8, kernel = 3, stride = 2, padding = 1}, {type = "batch_norm"}, {type = "relu"} ]
[[block]]
layers = [ {type = "convolution", out = 8, kernel = 3, padding = 1}, {type = "batch_norm"}, {type = "relu"} ]
[[block]]
layers = [ {type = "flatten"}, {type = "linear", out = "classes"} ]
)";
  const Words model{"--model", "model.toml"};
  const Words words =
      Words{"train",    "--strategy", "parareal", "--pieces", "3",      "--sweeps", "2",
            "--epochs", "2",          "--pin",    "none",     "--json", "--quiet"} +
      model + kData;
  const Json trained = here(words + Words{"--run-dir", "run"});
  const Json read = eval({"--run", "run"});
  EXPECT_EQ(read["test_loss"], trained["test_loss"]);
  EXPECT_EQ(exported({"--run", "run", "--out", "t.safetensors"})["left_out"], 0);
  // Other sweeps take the model's own, and so do those who know nothing of sweeps.
  const Json thrice = eval({"--run", "run", "--sweeps", "3"});
  const Json serial = exported({"--run", "run", "--serial", "--out", "s.safetensors"});
  EXPECT_EQ(serial["test_loss"], thrice["test_loss"]);
  EXPECT_EQ(eval(model + Words{"--init", "s.safetensors"} + kData)["test_loss"],
            serial["test_loss"]);
  EXPECT_EQ(eval(model + Words{"--init", "t.safetensors", "--sweeps", "2"} + kData)["test_loss"],
            trained["test_loss"]);
  // Interrupted and resumed, on other workers.
  here(words + Words{"--run-dir", "cut", "--steps", "7"});
  const Json resumed = here(kGoOn + Words{"--run-dir", "cut", "--workers", "2"});
  EXPECT_EQ(resumed["weights_hash"], trained["weights_hash"]);
  EXPECT_EQ(resumed["test_loss"], trained["test_loss"]);
}

TEST_F(PararealCli, ExportOfASerialRunIsTheRun) {
  const Json trained = here(
      Words{"train", "--epochs", "1", "--json", "--quiet", "--run-dir", "run"} + kModel + kData);
  for (const Words& way : {Words{}, Words{"--serial"}}) {
    const Json json = exported(Words{"--run", "run", "--out", "w.safetensors"} + way);
    EXPECT_EQ(json["test_loss"], trained["test_loss"]);
    EXPECT_EQ(json["left_out"], 0);
    EXPECT_EQ(eval(Words{"--init", "w.safetensors"} + kModel + kData)["test_loss"],
              trained["test_loss"]);
  }
}

TEST_F(PararealCli, FitsToSerialWeightsAndGoesOn) {
  const std::string weights = serial();
  const Words fitted{"--pieces", "3", "--init", weights, "--fit-coarse", "--fit-steps", "40"};
  const Json whole = train(fitted + Words{"--run-dir", "none"});
  EXPECT_NE(whole["weights_hash"],
            train({"--pieces", "3", "--init", weights, "--run-dir", "none"})["weights_hash"]);
  train(fitted + Words{"--run-dir", "run", "--steps", "7"});
  const Json resumed =
      here({"train", "--resume", "--run-dir", "run", "--steps", "0", "--json", "--quiet"});
  EXPECT_EQ(resumed["weights_hash"], whole["weights_hash"]);
  EXPECT_EQ(eval({"--run", "run"})["test_loss"], whole["test_loss"]);
}

TEST_F(PararealCli, ResumesOnOtherWorkersWithItsPieces) {
  const Json whole = train({"--workers", "3", "--run-dir", "none"});
  train({"--workers", "3", "--run-dir", "run", "--steps", "7"});
  copy("run", "other");
  EXPECT_EQ(here(kGoOn + Words{"--run-dir", "run", "--workers", "2"})["weights_hash"],
            whole["weights_hash"]);
  // a refused resume leaves the run as it was
  refusal(kGoOn + Words{"--run-dir", "other", "--pieces", "2"});
  refusal(kGoOn + Words{"--run-dir", "other", "--pieces", "2", "--workers", "2"});
  EXPECT_EQ(here(kGoOn + Words{"--run-dir", "other"})["weights_hash"], whole["weights_hash"]);
}

TEST_F(PararealCli, AutoFitsAndResumesTheTearingItChose) {
  const std::string weights = serial();
  train({"--pieces", "auto", "--workers", "2", "--sweeps", "3", "--init", weights, "--fit-coarse",
         "--fit-steps", "5", "--run-dir", "none"});
  const Json whole = train({"--pieces", "auto", "--workers", "3", "--run-dir", "none"});
  train({"--pieces", "auto", "--workers", "3", "--run-dir", "run", "--steps", "7"});
  EXPECT_EQ(
      here(kGoOn + Words{"--run-dir", "run", "--workers", "2", "--pieces", "auto"})["weights_hash"],
      whole["weights_hash"]);
}

/// Groups between nodes are no replicas: with three workers in a node two would not even divide
/// them.
TEST_F(PararealCli, AutoInsideNodesCountsReplicasOfOneNode) {
  const Words inside{"--strategy",         "daso", "--inner", "parareal", "--nodes", "2",
                     "--workers-per-node", "3"};
  const std::string chosen =
      train(inside + Words{"--pieces", "auto", "--run-dir", "auto"})["weights_hash"];
  const std::string config = read_text(folder_.path() / "auto" / "config.toml");
  EXPECT_THAT(config, HasSubstr("\nreplicas = 1 "));
  EXPECT_THAT(config, HasSubstr("\npieces = \"3\""));
  EXPECT_EQ(train(inside + Words{"--pieces", "3", "--run-dir", "none"})["weights_hash"], chosen);
}

TEST_F(PararealCli, TellsWhereItWasTorn) {
  Words words = torn({"--pieces", "3", "--run-dir", "none", "--no-quiet", "--no-json"});
  const Ended ended = run_plait(folder_.path(), words);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("piece"), HasSubstr("residuals ")));
  const Ended plan = run_plait(
      folder_.path(), Words{"plan", "--workers", "3", "--strategies", "parareal"} + kModel);
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("piece"));
}

TEST_F(PararealCli, RefusesInOneLine) {
  const auto refused = [&](const Words& words, const std::string& message) {
    EXPECT_THAT(refusal(torn(words)), HasSubstr(message));
    EXPECT_THAT(refusal(torn(words + Words{"--run-dir", "run"})), HasSubstr(message));
  };
  refused({"--pieces", "9"}, "at most");
  refused({"--pieces", "two"}, "--pieces two");
  refused({"--pieces", "-1"}, "--pieces -1");
  refused({"--pieces", "2", "--sweeps", "3"}, "--sweeps 3");
  refused({"--pieces", "2", "--sweeps", "0"}, "--sweeps 0");
  refused({"--pieces", "2", "--workers", "3"}, "--workers 3");
  refused({"--pieces", "2", "--workers", "3", "--replicas", "2"}, "--replicas 2");
  refused({"--pieces", "2", "--coarse", "blok"}, "did you mean 'block'?");
  refused({"--pieces", "2", "--residual-wire", "fp8"}, "--residual-wire fp8");
  refused({"--pieces", "2", "--clip-norm", "1"}, "--clip-norm");
  refused({"--pieces", "2", "--fit-coarse"}, "--init");
  refused({"--model", "lenet", "--pieces", "2", "--coarse", "identity"}, "--coarse identity");
  refused({"--pieces", "2", "--pipeline", "async"}, "--pipeline");
  refused({"--model", "linear", "--pieces", "2"}, "--pieces 2");
  for (const Words& words : {Words{"--sweeps", "2"},
                             {"--pieces", "2"},
                             {"--coarse", "conv"},
                             {"--residual-wire", "bf16"},
                             {"--fit-steps", "5"}}) {
    refused(Words{"--strategy", "serial"} + words, words[0] + " ");
  }
}

TEST_F(PararealCli, RefusesWhatDoesNotFitSavedWeights) {
  const std::string weights = serial();
  const Words of_serial = Words{"--init", weights} + kModel + kData;
  EXPECT_THAT(refusal(Words{"eval", "--sweeps", "2"} + of_serial), HasSubstr("--sweeps 2"));
  train({"--pieces", "3", "--run-dir", "run"});
  EXPECT_THAT(refusal({"eval", "--run", "run", "--sweeps", "4"}), HasSubstr("use 1 to 3"));
  EXPECT_THAT(refusal({"export", "--run", "run"}), HasSubstr("--out FILE.safetensors"));
  EXPECT_THAT(refusal({"export", "--run", "run", "--out", "nowhere/w.safetensors"}),
              HasSubstr("nowhere"));
  EXPECT_THAT(refusal({"export", "--run", "run", "--out", "w.pt"}), HasSubstr(".safetensors"));
  EXPECT_THAT(refusal({"export", "--run", "run", "--out", "w.onnx"}),
              ::testing::AnyOf(HasSubstr("belongs to a network split by parareal; add --serial"),
                               HasSubstr("built without ONNX")));
  EXPECT_THAT(refusal({"export", "--out", "w.safetensors"}), HasSubstr("--run DIR"));
  EXPECT_THAT(refusal({"export", "--run", "none", "--out", "w.safetensors"}), HasSubstr("none"));
  EXPECT_THAT(
      refusal(Words{"export", "--out", "w.safetensors", "--model", "lenet", "--init", weights} +
              kData),
      HasSubstr(weights));
}

}  // namespace
}  // namespace plait::cli
