// Names in tables: the model's block where all of it is meant, its parts where plans divide it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class BlockNames : public ::testing::Test {
 protected:
  std::string output(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out;
  }
  TempFolder folder_;
};

TEST_F(BlockNames, OfWorkersAreThoseOfTheModelWhereTheyHaveAllOfABlock) {
  const std::string torn = output({"plan", "--model", "resnet20", "--workers", "2", "--strategies",
                                   "parareal", "--cost", "analytic"});
  EXPECT_THAT(torn, HasSubstr("F stem .. layer"));
  EXPECT_THAT(torn, HasSubstr(".. head"));
  EXPECT_THAT(torn, Not(HasSubstr(".conv")));
  EXPECT_THAT(torn, Not(HasSubstr("head.")));
}

TEST_F(BlockNames, OfWorkersAreThoseOfPartsWhereABlockIsDivided) {
  const std::string cut = output({"plan", "--model", "mlp:32", "--workers", "4", "--strategies",
                                  "gpipe", "--cost", "analytic"});
  for (const char* tasks : {"F fc1.flatten ", "F fc1.linear; D fc1.linear; G fc1.linear",
                            "F fc1.relu; D fc1.relu", "F fc2; D fc2; G fc2"}) {
    EXPECT_THAT(cut, HasSubstr(tasks));
  }
}

TEST_F(BlockNames, OfProfilesAreThoseOfTheModelForPeopleAndThoseOfPlansInJson) {
  const Words ask{"profile", "--model", "resnet20",  "--batch", "2",
                  "--steps", "1",       "--threads", "1"};
  const std::string table = output(ask);
  EXPECT_THAT(table, HasSubstr("\nlayer1.0 "));
  EXPECT_THAT(table, HasSubstr("\nhead "));
  EXPECT_THAT(table, Not(HasSubstr("conv")));
  const auto json = nlohmann::json::parse(output(ask + Words{"--json"}), nullptr, false);
  std::vector<std::string> names;
  for (const auto& block : json["blocks"]) names.push_back(block["name"]);
  EXPECT_THAT(names, Contains("layer1.0.conv1"));
  EXPECT_THAT(names, Contains("head.fc"));
}

}  // namespace
}  // namespace plait::cli
