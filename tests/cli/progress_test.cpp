// The progress bar on every kind of terminal: what it says in a given width, and what really
// arrives at a terminal that is narrow, has no colours, or cannot redraw.
#include "cli/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const BarState kHalf{.step = 50,
                     .total_steps = 100,
                     .epoch = 3,
                     .loss = 1.25,
                     .test_accuracy = 0.5,
                     .images_per_second = 12345,
                     .seconds_left = 61};

/// Columns of UTF-8: bytes that do not continue a character.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TEST(ProgressBar, FitsAnyWidth) {
  for (const bool unicode : {false, true}) {
    for (std::size_t width = 0; width < 200; ++width) {
      EXPECT_LT(columns(bar_text(kHalf, width, unicode)), std::max<std::size_t>(width, 2)) << width;
    }
  }
}

TEST(ProgressBar, SaysTheMostUsefulFirst) {
  EXPECT_EQ(bar_text(kHalf, 5, false), " 50%");
  EXPECT_EQ(bar_text(kHalf, 20, false), " 50%  loss 1.2500");
  EXPECT_EQ(bar_text(kHalf, 40, false), "#####-----  50%  loss 1.2500  1:01 left");
  EXPECT_EQ(
      bar_text(kHalf, 200, false),
      "###############---------------  50%  loss 1.2500  1:01 left  12,345 images/s  accuracy "
      "50.00%  epoch 3");
  EXPECT_THAT(bar_text(kHalf, 120, true),
              HasSubstr("━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  50%  loss 1.2500  1:01 left  12,345 images/s  accuracy "
                        "50.00%  epoch 3"));
}

TEST(ProgressBar, SurvivesNumbersThatMakeNoSense) {
  BarState odd{.step = 7, .total_steps = 0, .epoch = 1, .loss = std::nan(""), .test_accuracy = {}};
  odd.seconds_left = std::numeric_limits<double>::infinity();
  EXPECT_LT(columns(bar_text(odd, 80, true)), 80U);
  odd = {.step = 200, .total_steps = 100, .epoch = 1, .loss = 1, .test_accuracy = {}};
  EXPECT_THAT(bar_text(odd, 80, false), HasSubstr("100%"));
}

/// Everything that a terminal of so many columns gets of a short training.
std::string at_terminal(unsigned short columns, const Words& environment) {
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    for (const char* name : {"NO_COLOR", "COLUMNS"}) unsetenv(name);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    for (const std::string& word : environment) {
      const std::size_t at = word.find('=');
      setenv(word.substr(0, at).c_str(), word.substr(at + 1).c_str(), 1);
    }
    execl(PLAIT_BINARY, "plait", "train", "--model", "lenet", "--train-limit", "640",
          "--test-limit", "64", "--epochs", "2", "--threads", "1", "--pin", "none", "--run-dir",
          "none", nullptr);
    _exit(127);
  }
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = read(terminal, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << text;
  return text;
}

/// What was drawn between "\r\x1b[K" and the next control character.
std::vector<std::string> bars(const std::string& text) {
  constexpr std::string_view begins = "\r\x1b[K";
  std::vector<std::string> found;
  for (std::size_t at = text.find(begins); at != std::string::npos; at = text.find(begins, at)) {
    at += begins.size();
    if (text.compare(at, 5, "\x1b[36m") == 0) at += 5;
    const std::string bar = text.substr(at, text.find_first_of("\r\n\x1b", at) - at);
    if (bar.find('%') != std::string::npos && !bar.starts_with("epoch")) found.push_back(bar);
  }
  return found;
}

TEST(ProgressBar, StaysInOneLineOfANarrowTerminal) {
  for (const unsigned short wide : {12, 40, 80}) {
    const std::vector<std::string> drawn = bars(at_terminal(wide, {}));
    EXPECT_FALSE(drawn.empty()) << wide;
    for (const std::string& bar : drawn) EXPECT_LT(columns(bar), wide) << bar;
  }
}

TEST(ProgressBar, HasColoursUnlessNobodyWantsThem) {
  EXPECT_THAT(at_terminal(80, {}), HasSubstr("\x1b[36m"));
  const std::string plain = at_terminal(80, {"NO_COLOR=1"});
  EXPECT_THAT(plain, Not(HasSubstr("\x1b[36m")));
  EXPECT_FALSE(bars(plain).empty());
}

TEST(ProgressBar, IsNotDrawnWhereNothingCanBeRedrawn) {
  const std::string dumb = at_terminal(80, {"TERM=dumb"});
  EXPECT_THAT(dumb, Not(HasSubstr("\x1b")));
  EXPECT_THAT(dumb, HasSubstr("epoch 2/2"));
  TempFolder folder;
  const Ended piped = run_plait(
      folder.path(), {"train", "--model", "lenet", "--train-limit", "640", "--test-limit", "64",
                      "--epochs", "2", "--threads", "1", "--pin", "none", "--run-dir", "none"});
  EXPECT_EQ(piped.exit_code, 0);
  EXPECT_THAT(piped.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(piped.err, Not(HasSubstr("\r")));
}

}  // namespace
}  // namespace plait::cli
