// What a user sees of a running training, on stderr: a bar where a line can be redrawn, one line
// per epoch everywhere.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.hpp"
#include "cli/terminal.hpp"
#include "session/train.hpp"

namespace plait::cli {

/// What the bar shows.
struct BarState {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  std::int64_t epoch = 0;
  double loss = 0;
  std::optional<double> test_accuracy;  ///< of the last epoch
  std::optional<double> test_miou{};
  double images_per_second = 0;
  double seconds_left = 0;
};

/// One line of at most `width` - 1 columns, without colours: the more room, the more it says.
std::string bar_text(const BarState& state, std::size_t width, bool unicode);

/// "epoch 1/3  train loss 0.1234  ...".
std::string epoch_text(const session::EpochReport& report);

class Progress : public session::TrainObserver {
 public:
  Progress(Terminal terminal, bool quiet) : terminal_(terminal), quiet_(quiet) {}
  ~Progress() override { clear(); }

  void begin(const std::string& headline) override;
  void step(const session::StepReport& report) override;
  void epoch(const session::EpochReport& report) override;
  void note(const std::string& line) override;
  void fatal(const std::string& line) override;
  /// Whether fatal() has been called: the end is explained already.
  bool said_fatal() const { return said_fatal_; }
  /// Takes the bar away, so that something else can be printed.
  void clear();

 private:
  void print(const std::string& line);

  Terminal terminal_;
  bool quiet_;
  std::atomic<bool> drawn_ = false;
  std::atomic<bool> said_fatal_ = false;
  BarState state_;
  std::int64_t first_step_ = 0;
  Stopwatch since_first_;
  Stopwatch since_drawn_;
};

}  // namespace plait::cli
