// Nodes that average their weights periodically, from the command line: settings that are chosen,
// and what is said where they are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class ReplicasCli : public ::testing::Test {
 protected:
  Ended train(const Words& words) const {
    return run_plait(folder_.path(),
                     Words{"train", "--model", "mlp:64", "--data", "glyphs", "--train-limit", "512",
                           "--test-limit", "128", "--batch", "32", "--threads", "1", "--pin",
                           "none", "--nodes", "2"} +
                         words);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  TempFolder folder_;
};

TEST_F(ReplicasCli, DilocosDefaultsTrain) {
  for (const char* steps : {"1", "4", "8", "32"}) {
    for (const Words& optimizer :
         {Words{"--lr", "0.05"}, Words{"--optimizer", "adam", "--lr", "0.002"}}) {
      const Ended ended = train(Words{"--strategy", "diloco", "--local-steps", steps, "--epochs",
                                      "8", "--run-dir", "none", "--quiet", "--json"} +
                                optimizer);
      ASSERT_EQ(ended.exit_code, 0) << ended.err;
      const Json result = Json::parse(ended.out);
      EXPECT_LT(result["train_loss"].get<double>(), 1) << steps << " local steps";
    }
  }
}

TEST_F(ReplicasCli, DilocosSettingsAreToldAndKept) {
  const Ended ended =
      train({"--strategy", "diloco", "--local-steps", "8", "--epochs", "2", "--run-dir", "run"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("diloco: --outer-lr 0.7 --outer-momentum 0.3"));
  EXPECT_THAT(read_text(path("run/config.toml")),
              AllOf(HasSubstr("\nouter_lr = 0.7"), HasSubstr("\nouter_momentum = 0.3")));
  const Ended told = train({"--strategy", "diloco", "--epochs", "1", "--run-dir", "told",
                            "--outer-lr", "1", "--outer-momentum", "0"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.err, Not(HasSubstr("--outer-lr")));
  EXPECT_THAT(read_text(path("told/config.toml")),
              AllOf(HasSubstr("\nouter_lr = 1.0"), HasSubstr("\nouter_momentum = 0.0")));
}

TEST_F(ReplicasCli, AResumedRunOfDilocoKeepsWhatWasChosen) {
  ASSERT_EQ(train({"--strategy", "diloco", "--epochs", "1", "--run-dir", "run"}).exit_code, 0);
  for (const Words& words : {Words{"--epochs", "2"}, Words{"--epochs", "3", "--outer-lr", "0"}}) {
    const Ended ended =
        run_plait(folder_.path(), Words{"train", "--resume", "--run-dir", "run"} + words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }
  EXPECT_THAT(
      run_plait(folder_.path(), {"train", "--resume", "--run-dir", "run", "--outer-lr", "0.5"}).err,
      HasSubstr("cannot resume with another outer_lr"));
}

TEST_F(ReplicasCli, DivergenceOfDilocoNamesTheOuterSettingsFirst) {
  const Ended ended =
      train({"--strategy", "diloco", "--local-steps", "1", "--outer-lr", "1", "--outer-momentum",
             "0.99", "--epochs", "40", "--lr", "0.5", "--run-dir", "none", "--quiet"});
  EXPECT_NE(ended.exit_code, 0);
  const std::size_t outer = ended.err.find("--outer-momentum 0.3");
  const std::size_t inner = ended.err.find("smaller --lr");
  EXPECT_NE(outer, std::string::npos) << ended.err;
  EXPECT_LT(outer, inner) << ended.err;
}

TEST_F(ReplicasCli, AnUnknownInnerStrategyIsRefusedByEveryVerb) {
  const auto refused = [&](const Words& words) {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("--inner foo"), HasSubstr("data_parallel")));
  };
  refused({"plan", "--model", "lenet", "--inner", "foo"});
  refused(
      {"plan", "--model", "lenet", "--workers", "2", "--strategies", "serial", "--inner", "foo"});
  refused({"train", "--model", "lenet", "--inner", "foo", "--run-dir", "none"});
  refused({"train", "--model", "lenet", "--strategy", "daso", "--nodes", "2", "--inner", "foo",
           "--run-dir", "none"});
}

}  // namespace
}  // namespace plait::cli
