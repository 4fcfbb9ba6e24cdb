// Weights carried in and out by the program, and TensorBoard's files beside a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "cli/process.hpp"
#include "onnx/file.hpp"
#include "run/event_file.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const Words kData{"--data", "glyphs",       "--batch", "32",        "--train-limit",
                  "256",    "--test-limit", "100",     "--threads", "1"};

class WeightsCli : public ::testing::Test {
 protected:
  Json result(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out, nullptr, false);
  }
  Json train(const Words& words) const {
    return result(Words{"train", "--json", "--quiet"} + kData + words);
  }
  Json eval(const Words& words) const { return result(Words{"eval", "--json"} + words); }
  std::string refusal(const Words& words) const {
    const std::size_t before = entries_in(folder_.path());
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_EQ(entries_in(folder_.path()), before) << "something was written";
    return ended.err;
  }

  TempFolder folder_;
};

class OnnxCli : public WeightsCli {
 protected:
  void SetUp() override {
    if (!onnx::onnx_graph::has_onnx()) GTEST_SKIP() << "this plait is built without libonnx";
    train({"--model", "lenet", "--epochs", "1", "--run-dir", "run"});
  }
};

TEST_F(OnnxCli, GoesOutAndComesInWithEqualBits) {
  const Json out = result({"export", "--json", "--run", "run", "--out", "lenet.onnx"});
  EXPECT_EQ(out["tensors"], 8);
  EXPECT_EQ(out["mean"], Json({0.5}));
  const onnx::onnx_graph::Graph graph = onnx::onnx_graph::read_onnx(folder_.path() / "lenet.onnx");
  EXPECT_EQ(graph.metadata, (checkpoint::Metadata{{"deviation", "0.5"}, {"mean", "0.5"}}));
  const double loss = eval({"--run", "run"})["test_loss"];
  const Words init = Words{"--model", "lenet", "--init", "lenet.onnx"} + kData;
  EXPECT_EQ(eval(init)["test_loss"], loss);
  result({"export", "--json", "--run", "run", "--onnx", "--out", "no-suffix"});
  EXPECT_EQ(read_text(folder_.path() / "no-suffix"), read_text(folder_.path() / "lenet.onnx"));
  result({"export", "--json", "--run", "run", "--out", "lenet.safetensors"});
  const Words more{"--model", "lenet", "--epochs", "1", "--run-dir", "none", "--init"};
  EXPECT_EQ(train(more + Words{"lenet.onnx"})["weights_hash"],
            train(more + Words{"lenet.safetensors"})["weights_hash"]);
}

TEST_F(OnnxCli, BecomesAModelOfItsOwn) {
  result({"export", "--json", "--run", "run", "--out", "lenet.onnx"});
  const Json imported = result({"import", "lenet.onnx", "--out", "new", "--json"});
  EXPECT_EQ(imported["blocks"], 5);
  EXPECT_EQ(imported["parameters"], 431080);
  EXPECT_EQ(eval(Words{"--model", "new/model.toml", "--init", "new/weights.safetensors"} +
                 kData)["test_loss"],
            eval({"--run", "run"})["test_loss"]);
  EXPECT_THAT(refusal({"import", "lenet.onnx", "--out", "new"}), HasSubstr("new: exists already"));
  EXPECT_THAT(refusal({"import", "lenet.onnx"}), HasSubstr("add --out FOLDER"));
  EXPECT_THAT(refusal({"import", "--out", "more"}), HasSubstr("plait import FILE.onnx"));
  EXPECT_THAT(refusal({"import", "none.onnx", "--out", "more"}), HasSubstr("'none.onnx'"));
}

TEST_F(OnnxCli, RefusesWithOneLine) {
  result({"export", "--json", "--run", "run", "--out", "lenet.onnx"});
  const std::string bytes = read_text(folder_.path() / "lenet.onnx");
  write_text(folder_.path() / "cut.onnx", bytes.substr(0, bytes.size() / 3));
  const auto init = [&](const std::string& file, const std::string& model) {
    return Words{"eval", "--model", model, "--init", file} + kData;
  };
  EXPECT_THAT(refusal(init("cut.onnx", "lenet")),
              HasSubstr("plait: cut.onnx: is not an ONNX model, or is damaged"));
  EXPECT_THAT(refusal(init("nowhere.onnx", "lenet")), HasSubstr("cannot open 'nowhere.onnx'"));
  EXPECT_THAT(
      refusal(init("lenet.onnx", "mlp:20")),
      HasSubstr("lenet.onnx: after the input the model has 'fc1.flatten' (flatten), but the "
                "file has node 'conv1.conv' (Conv), convolution 5x5, 20 channels"));
  EXPECT_THAT(refusal(Words{"train", "--model", "mlp:20", "--init", "lenet.onnx"} + kData),
              HasSubstr("lenet.onnx: after the input"));
  EXPECT_THAT(refusal({"export", "--run", "run", "--out", "w.safetensors", "--onnx"}),
              HasSubstr("--onnx contradicts --out w.safetensors"));
  EXPECT_THAT(refusal({"export", "--run", "run", "--out", "w.onnx", "--names", "pytorch"}),
              HasSubstr("--names pytorch is for .safetensors"));
  EXPECT_THAT(refusal({"export", "--run", "run", "--out", "w.safetensors", "--names", "pytorch"}),
              HasSubstr("is for networks that torchvision has"));
  EXPECT_THAT(refusal({"export", "--run", "run", "--out", "w.safetensors", "--names", "keras"}),
              HasSubstr("--names keras is unknown; choose plait or pytorch"));
}

TEST_F(WeightsCli, TakesPyTorchNamesBothWays) {
  train({"--model", "resnet20", "--steps", "1", "--run-dir", "run"});
  result({"export", "--json", "--run", "run", "--names", "pytorch", "--out", "t.safetensors"});
  const std::string header = read_text(folder_.path() / "t.safetensors").substr(0, 4096);
  EXPECT_THAT(header, HasSubstr("\"layer1.0.bn1.running_mean\""));
  EXPECT_THAT(header, ::testing::Not(HasSubstr("\"stem.")));
  EXPECT_EQ(eval(Words{"--model", "resnet20", "--init", "t.safetensors"} + kData)["test_loss"],
            eval({"--run", "run"})["test_loss"]);
}

/// Step -> its numbers, with what later files take back gone, as TensorBoard reads a folder.
std::map<std::int64_t, std::map<std::string, float>> read_board(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::map<std::int64_t, std::map<std::string, float>> board;
  for (const fs::path& file : files) {
    for (const run::event_file::Event& event : run::event_file::read(read_text(file))) {
      if (event.session_status) board.erase(board.lower_bound(event.step), board.end());
      if (!event.scalars.empty()) board[event.step] = event.scalars;
    }
  }
  return board;
}

TEST_F(WeightsCli, TensorboardHasWhatTheMetricsHave) {
  train({"--model", "lenet", "--epochs", "2", "--run-dir", "run", "--tensorboard"});
  // As if it had died between the metrics and the checkpoint of its second epoch.
  for (const auto& entry : fs::directory_iterator(folder_.path() / "run" / "checkpoints")) {
    if (entry.path().filename().string().find("16") != std::string::npos) {
      fs::remove_all(entry.path());
    }
  }
  result({"train", "--json", "--quiet", "--resume", "--run-dir", "run", "--epochs", "3"});
  const auto board = read_board(folder_.path() / "run" / "tensorboard");
  EXPECT_EQ(entries_in(folder_.path() / "run" / "tensorboard"), 2U);
  std::istringstream metrics(read_text(folder_.path() / "run" / "metrics.jsonl"));
  std::size_t lines = 0;
  for (std::string text; std::getline(metrics, text); ++lines) {
    const Json line = Json::parse(text);
    SCOPED_TRACE(text);
    ASSERT_TRUE(board.contains(line["step"]));
    const auto& scalars = board.at(line["step"]);
    const std::pair<const char*, const char*> pairs[] = {
        {"train_loss", "loss/train"},           {"test_loss", "loss/test"},
        {"test_accuracy", "accuracy/test"},     {"learning_rate", "learning_rate"},
        {"seconds", "speed/seconds_per_epoch"}, {"images_per_second", "speed/images_per_second"}};
    for (const auto& [key, name] : pairs) {
      ASSERT_TRUE(scalars.contains(name)) << name;
      EXPECT_EQ(scalars.at(name), line[key].get<float>()) << name;
    }
  }
  EXPECT_EQ(lines, 3U);
  EXPECT_EQ(board.size(), 3U);
}

TEST_F(WeightsCli, TensorboardNeedsARunFolder) {
  EXPECT_THAT(refusal({"train", "--run-dir", "none", "--tensorboard"}),
              HasSubstr("--tensorboard writes into the run folder"));
}

}  // namespace
}  // namespace plait::cli
