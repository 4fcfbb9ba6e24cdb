// Whole runs on a label for each pixel: what is reported, evaluated and continued.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/whole_run.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

class PixelRun : public WholeRun {
 protected:
  static Words unet(const Words& more) {
    return Words{"--model",      "unet:2", "--data",  "shapes", "--train-limit", "24",
                 "--test-limit", "8",      "--batch", "8",      "--epochs",      "1"} +
           more;
  }
};

TEST_F(PixelRun, ReportsAccuracyAndUnions) {
  const Json result = train(unet({"--run-dir", "run"}));
  ASSERT_TRUE(result.contains("test_miou"));
  EXPECT_GT(result["test_miou"], 0);
  EXPECT_LT(result["test_miou"], 1);
  std::ifstream metrics(path("run") / "metrics.jsonl");
  std::string line;
  std::getline(metrics, line);
  EXPECT_EQ(Json::parse(line)["test_miou"], result["test_miou"]);
  const Ended eval = run_plait(folder_.path(), {"eval", "--run", "run", "--json"});
  const Json again = Json::parse(eval.out, nullptr, false);
  EXPECT_EQ(again["test_miou"], result["test_miou"]) << eval.err;
  EXPECT_EQ(again["test_accuracy"], result["test_accuracy"]);
  EXPECT_THAT(run_plait(folder_.path(), {"eval", "--run", "run"}).out, HasSubstr("test_miou"));
  const Ended more = run_plait(folder_.path(), {"train", "--resume", "--run-dir", "run", "--epochs",
                                                "2", "--no-json", "--no-quiet"});
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_THAT(more.err, HasSubstr("%  mIoU "));
  EXPECT_FALSE(train({"--epochs", "1", "--run-dir", "none"}).contains("test_miou"));
}

TEST_F(PixelRun, StrategiesHaveTheBitsOfOneWorker) {
  const std::string alone = hash(unet({"--microbatches", "2", "--run-dir", "none"}));
  for (const char* strategy : {"layerpipe", "gpipe", "1f1b", "zb-h1"}) {
    EXPECT_EQ(hash(unet({"--microbatches", "2", "--run-dir", "none", "--strategy", strategy,
                         "--workers", "2"})),
              alone)
        << strategy;
  }
}

TEST_F(PixelRun, IgnoreLabelIsForFilesOfLabels) {
  const Ended show = run_plait(folder_.path(), {"data", "show", "shapes", "--samples", "0"});
  EXPECT_THAT(show.out, HasSubstr("4 classes; pixels per class: "));
  const Ended flat = run_plait(folder_.path(), {"train", "--model", "lenet", "--data", "shapes"});
  EXPECT_EQ(flat.exit_code, 2);
  EXPECT_THAT(flat.err, HasSubstr("try unet"));
  const Ended profile = run_plait(folder_.path(), {"profile", "--model", "unet:2", "--data-shape",
                                                   "3x32x32", "--batch", "2", "--threads", "1"});
  EXPECT_EQ(profile.exit_code, 0) << profile.err;
}

}  // namespace
}  // namespace plait::cli
