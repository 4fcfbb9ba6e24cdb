// UserError carries the setting to blame, its value and the reason, and one line made of them.
#include "base/error.hpp"

#include <gtest/gtest.h>

#include "base/setting.hpp"

namespace plait {
namespace {

UserError caught(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return UserError("");
}

TEST(UserError, HasFieldValueAndReason) {
  const UserError error =
      caught([] { setting_error("microbatches", 7, "must divide `batch` {}", 64); });
  EXPECT_EQ(error.field(), "microbatches");
  EXPECT_EQ(error.value(), "7");
  EXPECT_EQ(error.reason(), "must divide `batch` 64");
  EXPECT_STREQ(error.what(), "`microbatches` 7 must divide `batch` 64");
}

TEST(UserError, MayBlameNoSetting) {
  const UserError error = caught([] { user_error("no file {}", "x.toml"); });
  EXPECT_EQ(error.field(), "");
  EXPECT_EQ(error.value(), "");
  EXPECT_EQ(error.reason(), "no file x.toml");
  EXPECT_STREQ(error.what(), "no file x.toml");
}

TEST(UserError, OfASwitchHasNoValue) {
  EXPECT_STREQ(UserError("resume", "", "needs `run_dir`").what(), "`resume` needs `run_dir`");
}

TEST(UserError, KeepsItsFieldsInAPlace) {
  const UserError placed = UserError("batch", "0", "must be at least 1").in("plan.json");
  EXPECT_STREQ(placed.what(), "plan.json: `batch` 0 must be at least 1");
  EXPECT_EQ(placed.field(), "batch");
  EXPECT_EQ(placed.value(), "0");
  EXPECT_EQ(placed.reason(), "must be at least 1");
}

TEST(CheckedSetting, IsBlamedByItsKey) {
  EXPECT_EQ(caught([] { check_bounds("keep_last", 0, {1, 9}); }).field(), "keep_last");
  EXPECT_EQ(caught([] { check_choice("decay", "al", "all, matrices"); }).value(), "al");
}

}  // namespace
}  // namespace plait
