// Whole trainings by the program in a folder of their own: what tests of runs share.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "cli/process.hpp"

namespace plait::cli {

using Json = nlohmann::json;

/// 32 steps per epoch.
inline const Words kSmall{"train", "--model",      "lenet", "--data",  "glyphs", "--train-limit",
                          "512",   "--test-limit", "128",   "--batch", "16",     "--threads",
                          "1",     "--lr",         "0.01",  "--json",  "--quiet"};

class WholeRun : public ::testing::Test {
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

}  // namespace plait::cli
