// The bar and the epoch line as text, and when they are drawn.
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"
#include "cli/terminal.hpp"

namespace plait::cli {

namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr std::size_t kLongestBar = 30;
constexpr std::size_t kShortestBar = 6;

std::string repeated(const char* piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

double share_done(const BarState& state) {
  if (state.total_steps <= 0) return 0;
  return std::clamp(static_cast<double>(state.step) / static_cast<double>(state.total_steps), 0.0,
                    1.0);
}

}  // namespace

std::string bar_text(const BarState& state, std::size_t width, bool unicode) {
  const double done = share_done(state);
  // The most useful first; what does not fit is left out from the end.
  std::vector<std::string> parts{
      fmt::format("{:3.0f}%", std::floor(100 * done)), fmt::format("loss {:.4f}", state.loss),
      fmt::format("{} left", duration(state.seconds_left)),
      fmt::format("{} images/s", with_commas(std::llround(state.images_per_second)))};
  if (state.test_accuracy) {
    parts.push_back(fmt::format("accuracy {:.2f}%", 100 * *state.test_accuracy));
  }
  if (state.test_miou) parts.push_back(fmt::format("mIoU {:.2f}%", 100 * *state.test_miou));
  parts.push_back(fmt::format("epoch {}", state.epoch));
  const std::size_t room = std::max<std::size_t>(width, 2) - 1;  // the last column may wrap
  std::string text;
  for (const std::string& part : parts) {
    const std::size_t gap = text.empty() ? 0 : 2;
    if (text.size() + gap + part.size() > room) break;
    text += std::string(gap, ' ') + part;
  }
  if (room < text.size() + kShortestBar + 1) return text;
  const std::size_t length = std::min(kLongestBar, room - text.size() - 1);
  const auto full = static_cast<std::size_t>(done * static_cast<double>(length));
  return repeated(unicode ? "━" : "#", full) + repeated(unicode ? "╌" : "-", length - full) + " " +
         text;
}

std::string epoch_text(const session::EpochReport& report) {
  const std::string total = std::to_string(report.epochs);
  std::string text = fmt::format("epoch {:>{}}/{}  train loss {:.4f}  test {:.4f}", report.epoch,
                                 total.size(), total, report.train_loss, report.test_loss);
  if (report.test_accuracy) {
    text += fmt::format("  accuracy {:.2f}%", 100 * *report.test_accuracy);
  }
  if (report.test_miou) text += fmt::format("  mIoU {:.2f}%", 100 * *report.test_miou);
  const double speed = std::isfinite(report.images_per_second) ? report.images_per_second : 0;
  for (std::size_t i = 0; i < report.residuals.size(); ++i) {
    text += fmt::format("{}{:.2f}", i == 0 ? "  residuals " : " ", report.residuals[i].value);
  }
  text += fmt::format("  {} images/s", with_commas(std::llround(speed)));
  const std::string seconds = fmt::format("  {:.1f} s", report.seconds);
  return text.size() + seconds.size() <= kLineColumns ? text + seconds : text;
}

void Progress::begin(const std::string& headline) { print(headline); }

void Progress::step(const session::StepReport& report) {
  if (quiet_ || !terminal_.redraws) return;
  if (state_.step == 0) {
    first_step_ = report.step;
    since_first_ = Stopwatch();
  }
  state_.step = report.step;
  state_.total_steps = report.total_steps;
  state_.epoch = report.epoch;
  state_.loss = report.loss;
  state_.images_per_second = report.images_per_second;
  if (drawn_ && since_drawn_.seconds() < kRedrawSeconds) return;
  const auto steps = static_cast<double>(report.step - first_step_);
  if (steps < 1) return;  // no speed yet
  state_.seconds_left =
      since_first_.seconds() / steps * static_cast<double>(report.total_steps - report.step);
  const std::string bar = bar_text(state_, terminal_width(), terminal_.unicode);
  tell("\r\x1b[K{}{}{}", terminal_.colours ? "\x1b[36m" : "", bar,
       terminal_.colours ? "\x1b[0m" : "");
  std::fflush(stderr);
  drawn_ = true;
  since_drawn_ = Stopwatch();
}

void Progress::epoch(const session::EpochReport& report) {
  state_.test_accuracy = report.test_accuracy;
  state_.test_miou = report.test_miou;
  print(epoch_text(report));
}

void Progress::note(const std::string& line) { print(line); }

/// From another thread than the rest, right before the end: says it even when quiet.
void Progress::fatal(const std::string& line) {
  said_fatal_ = true;
  tell("{}plait: {}\n", drawn_ ? "\n" : "", line);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

void Progress::print(const std::string& line) {
  if (quiet_) return;
  clear();
  tell("{}\n", line);
  std::fflush(stderr);
}

}  // namespace plait::cli
