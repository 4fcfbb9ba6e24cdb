// The manual page and bash's completion, made of the same verbs as --help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using testing::HasSubstr;

std::string output_of(const std::string& command) {
  const Ended ended = run({.command = {"/bin/bash", "-c", command}, .directory = "/"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return ended.out;
}

TEST(Manual, HasEveryVerbAndFlagsOfItsOwn) {
  const std::string page = output_of(PLAIT_BINARY " --man");
  EXPECT_EQ(page.find(".TH PLAIT 1"), 0U);
  for (const char* verb : {"train", "plan", "profile", "eval", "report", "export", "data fetch"}) {
    EXPECT_THAT(page, HasSubstr(std::string(".SS plait ") + verb));
  }
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-strategy\\fR"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-no\\-normalise\\fR\ndo not shift"));
}

TEST(Completion, KnowsVerbsFlagsAndStrategies) {
  const std::string script = "source <(" PLAIT_BINARY
                             " --completion); ask() { COMP_WORDS=(plait \"$@\"); "
                             "COMP_CWORD=$#; _plait; echo \"${COMPREPLY[*]}\"; }; ";
  EXPECT_EQ(output_of(script + "ask tr"), "train\n");
  EXPECT_EQ(output_of(script + "ask train --mo"), "--model --momentum\n");
  EXPECT_EQ(output_of(script + "ask train --strategy dat"), "data_parallel\n");
  EXPECT_EQ(output_of(script + "ask train --no-n"), "--no-normalise\n");
  EXPECT_EQ(output_of(script + "ask data f"), "fetch\n");
  EXPECT_EQ(output_of(script + "ask train --config /"), "\n");
}

}  // namespace
}  // namespace plait::cli
