// "Did you mean": which slips are forgiven and which are not.
#include "base/nearest.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace plait {
namespace {

const std::vector<std::string> kWords{"kernel", "stride", "padding", "out"};

TEST(Nearest, ForgivesSmallSlips) {
  EXPECT_EQ(nearest("kernal", kWords), "kernel");
  EXPECT_EQ(nearest("strid", kWords), "stride");
  EXPECT_EQ(nearest("padidng", kWords), "padding");
  EXPECT_EQ(nearest("kernel", kWords), "kernel");
}

TEST(Nearest, IsSilentAboutStrangers) {
  EXPECT_EQ(nearest("momentum", kWords), "");
  EXPECT_EQ(nearest("kernel", {}), "");
  EXPECT_EQ(nearest("", kWords), "");
}

TEST(Nearest, TakesTheClosest) {
  EXPECT_EQ(nearest("vgg12", {"vgg19", "vgg112", "vgg22"}), "vgg19");
}

TEST(Nearest, Sentence) {
  EXPECT_EQ(did_you_mean("kernal", kWords), " (did you mean 'kernel'?)");
  EXPECT_EQ(did_you_mean("momentum", kWords), "");
}

TEST(Error, CarriesTheFormattedLine) {
  try {
    user_error("{}: {} is too large", "a.toml", 7);
    FAIL() << "did not throw";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "a.toml: 7 is too large");
  }
  EXPECT_THROW(fail("rank {} died", 3), Failure);
}

}  // namespace
}  // namespace plait
