// Nothing that plait prints for people is wider than a terminal of 80 columns: help, tables,
// progress. Paths and commands to copy may be longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

/// In columns: the bytes of UTF-8 that begin a character.
std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string wide_lines(const std::string& text) {
  std::string wide;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (columns_of(line) > 80) wide += line + "\n";
  }
  return wide;
}

class Width : public ::testing::Test {
 protected:
  void expect_narrow(const Words& words) const {
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 0) << words.front() << ": " << ended.err;
    EXPECT_EQ(wide_lines(ended.out), "") << words.front();
    EXPECT_EQ(wide_lines(ended.err), "") << words.front();
  }

  TempFolder folder_;
};

TEST_F(Width, Help) {
  expect_narrow({"--help"});
  for (const char* verb : {"train", "plan", "profile", "partition", "prune", "eval", "report",
                           "export", "import", "infer", "data", "models"}) {
    expect_narrow({verb, "--help"});
  }
  for (const char* verb : {"list", "fetch", "show"}) expect_narrow({"data", verb, "--help"});
}

TEST_F(Width, Tables) {
  expect_narrow({"models"});
  for (const char* model : {"lenet", "vgg16", "resnet164", "radixnet:1024x12"}) {
    expect_narrow({"models", model});
  }
  expect_narrow({"data", "list"});
  expect_narrow({"data", "show", "glyphs"});
  expect_narrow({"partition", "--model", "radixnet:64x4", "--parts", "2", "--compare", "--out",
                 "p.safetensors"});
  expect_narrow({"profile", "--model", "lenet", "--batch", "4", "--steps", "2"});
  expect_narrow({"infer", "--model", "radixnet:1024x4", "--count", "60"});
}

TEST_F(Width, ARunAndWhatComesAfter) {
  const Words small{"--data",   "glyphs", "--train-limit", "128", "--test-limit", "32",
                    "--batch",  "32",     "--epochs",      "2",   "--threads",    "1",
                    "--run-dir"};
  expect_narrow(Words{"train", "--model", "mlp"} + small + Words{"run"});
  expect_narrow(Words{"train", "--model", "lenet", "--strategy", "layerpipe", "--workers", "2",
                      "--microbatches", "4"} +
                small + Words{"pipe"});
  expect_narrow(Words{"train", "--model", "mlp", "--strategy", "gpipe", "--workers", "2", "--cost",
                      "analytic", "--peak-gflops", "0.0001"} +
                small + Words{"slow"});  // says that it gains nothing
  expect_narrow({"eval", "--run", "run"});
  expect_narrow({"prune", "--run", "run", "--out", "pruned"});
  expect_narrow({"export", "--run", "run", "--out", "w.safetensors"});
  expect_narrow({"report", "run"});
}

}  // namespace
}  // namespace plait::cli
