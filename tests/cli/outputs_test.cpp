// Networks whose outputs and inputs are their own: more outputs than labels occur, sequences of
// real numbers, and verbs without data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/whole_run.hpp"
#include "token_files.hpp"

namespace plait::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kRowOfFour =
    "[[block]]\nname = \"fc\"\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 8}, {type "
    "= "
    "\"relu\"}]\n[[block]]\nname = \"o\"\nlayers = [{type = \"linear\", out = 4}]\n";
constexpr const char* kFourPerPixel =
    "[[block]]\nname = \"a\"\nlayers = [{type = \"convolution\", out = 6, kernel = 3, padding = "
    "1}, "
    "{type = \"relu\"}]\n[[block]]\nname = \"o\"\nlayers = [{type = \"convolution\", out = 4, "
    "kernel = "
    "1}]\n";
constexpr const char* kSequences =
    "[[block]]\nname = \"c\"\nlayers = [{type = \"convolution_1d\", out = 6, kernel = 3, padding = "
    "1}, {type = \"relu\"}]\n[[block]]\nname = \"o\"\nlayers = [{type = \"flatten\"}, {type = "
    "\"linear\", out = 4}]\n";

class OwnOutputs : public WholeRun {
 protected:
  void SetUp() override {
    write_text(path("row.toml"), kRowOfFour);
    write_text(path("pixels.toml"), kFourPerPixel);
    write_text(path("sequences.toml"), std::string("input = [3, 6]\n") + kSequences);
    write_text(path("any.toml"), kSequences);
  }

  /// 32 samples of shape `each`, "3, 4", which have so many values, and as many labels for each.
  void put(const std::string& name, const std::string& each, std::size_t values,
           const std::vector<int>& labels) const {
    std::filesystem::create_directories(path(name));
    std::vector<float> x(32 * values);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 101;
    const std::size_t of_sample = labels.size() / 32;
    const std::string shape = of_sample == 1 ? "(32,)" : "(32, 6, 6)";
    for (const char* split : {"train", "test"}) {
      write_npy(path(name) / (std::string(split) + "_x.npy"), "<f4", "(32, " + each + ")", x);
      write_npy(path(name) / (std::string(split) + "_y.npy"), "<i4", shape, labels);
    }
  }
  static std::vector<int> labels(std::size_t count) {
    std::vector<int> all(count);  // of three classes, half of them of class 0
    for (std::size_t i = 0; i < count; ++i)
      all[i] = i % 2 == 0 ? 0 : 1 + static_cast<int>(i / 2 % 2);
    return all;
  }
  static Words on(const std::string& model, const std::string& data, const Words& more) {
    return Words{"--model",       model, "--data",       data, "--epochs",  "2",   "--batch", "8",
                 "--train-limit", "0",   "--test-limit", "0",  "--run-dir", "none"} +
           more;
  }
  std::string refusal(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 2) << ended.out;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    return ended.err;
  }
  std::string output(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out;
  }
};

TEST_F(OwnOutputs, MayBeMoreThanTheLabels) {
  put("three", "3, 4", 12, labels(32));
  const auto row = [&](const Words& more) { return on("row.toml", "npy:three", more); };
  const Json result = train(row({"--run-dir", "run"}));
  EXPECT_FALSE(result.contains("test_top5"));
  EXPECT_EQ(Json::parse(output({"eval", "--run", "run", "--json"}))["test_loss"],
            result["test_loss"]);
  // The class that does not occur weighs nothing: 32 / (3 x 16), 32 / (3 x 8).
  EXPECT_EQ(hash(row({"--class-weights", "balanced"})),
            hash(row({"--class-weights", "0.6666667,1.3333334,1.3333334,0"})));
  EXPECT_THAT(
      refusal(Words{"train"} + row({"--class-weights", "1,2,3"})),
      HasSubstr("--class-weights 1,2,3 has 3 weight(s), but model 'row.toml' has 4 outputs"));
  EXPECT_EQ(hash(row({"--loss", "mse", "--microbatches", "2"})),
            hash(row({"--loss", "mse", "--strategy", "layerpipe", "--workers", "2",
                      "--microbatches", "2"})));
  write_text(
      path("six.toml"),
      std::string(kRowOfFour).replace(std::string(kRowOfFour).find("out = 4"), 7, "out = 6"));
  EXPECT_TRUE(train(on("six.toml", "npy:three", {})).contains("test_top5"));
}

TEST_F(OwnOutputs, MayBeMoreThanTheLabelsOfPixels) {
  put("pixels", "3, 6, 6", 108, labels(32 * 36));
  const auto image = [&](const Words& more) { return on("pixels.toml", "npy:pixels", more); };
  const Json alone = train(image({"--microbatches", "2", "--class-weights", "balanced"}));
  const Json two = train(image({"--microbatches", "2", "--class-weights", "balanced", "--strategy",
                                "layerpipe", "--workers", "2"}));
  EXPECT_EQ(alone["weights_hash"], two["weights_hash"]);
  EXPECT_GT(alone["test_miou"], 0);
  EXPECT_EQ(alone["test_miou"], two["test_miou"]);
  EXPECT_EQ(alone["test_accuracy"], two["test_accuracy"]);
}

TEST_F(OwnOutputs, OfFewerThanTheLabelsTheMessageNamesOne) {
  std::vector<int> stray = labels(32);
  stray[5] = 200;
  put("stray", "3, 4", 12, stray);
  EXPECT_THAT(refusal(Words{"train"} + on("row.toml", "npy:stray", {})),
              AllOf(HasSubstr("row.toml: the last block 'o' returns 4 but the data has 201 classes "
                              "(stray/train_y.npy: sample 5 has the label 200); end with out ="),
                    Not(HasSubstr("--ignore-label"))));
  stray = labels(32 * 36);
  stray[36 * 7 + 3] = 200;
  put("spot", "3, 6, 6", 108, stray);
  EXPECT_THAT(
      refusal(Words{"train"} + on("pixels.toml", "npy:spot", {})),
      AllOf(HasSubstr("returns 4x6x6 but the data has 201 classes (spot/train_y.npy: sample "
                      "7 has the label 200)"),
            HasSubstr("leave such pixels out with --ignore-label 200")));
  EXPECT_GT(train(on("pixels.toml", "npy:spot", {"--ignore-label", "200"}))["test_accuracy"], 0);
}

TEST_F(OwnOutputs, OfEachPositionHaveNoLossYet) {
  put("rows", "3, 6", 18, labels(32));
  write_text(path("rows.toml"),
             "[[block]]\nname = \"o\"\nlayers = [{type = \"linear\", out = 4}]\n");
  EXPECT_THAT(refusal(Words{"train"} + on("rows.toml", "npy:rows", {})),
              HasSubstr("the last block 'o' returns 3x4, a row for each position of a sequence; "
                        "there is no loss per position yet"));
  write_npy(path("rows") / "train_y.npy", "<i4", "(32, 3)", std::vector<int>(96, 1));
  EXPECT_THAT(
      refusal(Words{"train"} + on("rows.toml", "npy:rows", {})),
      HasSubstr("rows/train_y.npy: integer labels of shape 32x3, one for each position of a "
                "sequence: there is no loss per position yet"));
}

TEST_F(OwnOutputs, SequencesOfNumbersAreRead) {
  put("waves", "3, 6", 18, labels(32));
  const auto said = [&](const Words& more) { return on("sequences.toml", "npy:waves", more); };
  const std::string alone = hash(said({"--microbatches", "2"}));
  EXPECT_EQ(hash(on("any.toml", "npy:waves", {"--microbatches", "2"})), alone);
  EXPECT_EQ(hash(said({"--microbatches", "2", "--strategy", "layerpipe", "--workers", "2"})),
            alone);
  // Grey images, as ever.
  EXPECT_EQ(train(on("row.toml", "npy:waves", {"--run-dir", "run"}))["steps"], 8);
  write_text(path("image.toml"), std::string("input = [1, 3, 6]\n") + kRowOfFour);
  EXPECT_EQ(train(on("image.toml", "npy:waves", {}))["steps"], 8);
  EXPECT_THAT(refusal(Words{"train"} + said({"--augment", "flip"})), HasSubstr("needs images"));
}

TEST_F(OwnOutputs, AreTheClassesOfVerbsWithoutData) {
  EXPECT_THAT(output({"models", "sequences.toml"}), HasSubstr("3x6"));
  EXPECT_THAT(refusal({"models", "sequences.toml", "--classes", "5"}),
              HasSubstr("--classes 5, but sequences.toml returns 4"));
  EXPECT_THAT(refusal({"models", "sequences.toml", "--data-shape", "1x28x28"}),
              HasSubstr("--data-shape 1x28x28, but sequences.toml says that its input is 3x6"));
  EXPECT_THAT(output({"plan", "--model", "sequences.toml", "--workers", "2", "--strategies",
                      "data_parallel"}),
              HasSubstr("data_parallel"));
  const Json profile = Json::parse(output({"profile", "--model", "sequences.toml", "--batch", "4",
                                           "--steps", "1", "--threads", "1", "--json"}));
  EXPECT_EQ(profile["classes"], 4);
}

TEST_F(OwnOutputs, AreExportedAndPrunedWithoutData) {
  put("waves", "3, 6", 18, labels(32));
  train(on("sequences.toml", "npy:waves", {"--run-dir", "run"}));
  output({"export", "--run", "run", "--out", "w.safetensors"});
  const Words alone{"--model", "sequences.toml", "--init", "w.safetensors"};
  const Json json =
      Json::parse(output(Words{"export"} + alone + Words{"--out", "again.safetensors", "--json"}));
  EXPECT_FALSE(json.contains("test_loss"));
  EXPECT_EQ(read_text(path("again.safetensors")), read_text(path("w.safetensors")));
  EXPECT_THAT(output(Words{"export"} + alone + Words{"--out", "more.safetensors"}),
              HasSubstr("not measured; --data DATA measures it"));
  EXPECT_TRUE(
      Json::parse(output(Words{"export"} + alone +
                         Words{"--out", "data.safetensors", "--data", "npy:waves", "--json"}))
          .contains("test_loss"));
  EXPECT_THAT(refusal({"export", "--model", "sequences.toml", "--init", "w.safetensors", "--out",
                       "nowhere/w.safetensors"}),
              HasSubstr("nowhere"));
  write_text(path("other.toml"),
             "input = [3, 6]\n[[block]]\nlayers = [{type = \"flatten\"}, {type = "
             "\"linear\", out = 4}]\n");
  EXPECT_THAT(refusal({"export", "--model", "other.toml", "--init", "w.safetensors", "--out",
                       "other.safetensors"}),
              HasSubstr("w.safetensors"));
  const Ended pruned = run_plait(folder_.path(), Words{"prune"} + alone + Words{"--out", "pruned"});
  EXPECT_EQ(pruned.exit_code, 0) << pruned.err;
  EXPECT_THAT(pruned.err, HasSubstr("--data DATA"));
}

}  // namespace
}  // namespace plait::cli
