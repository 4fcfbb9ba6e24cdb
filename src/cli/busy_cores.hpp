// Says, once in a run, that other programs take the cores its threads compute on: threads of a
// worker wait for each other, so one that shares its core slows all of them down.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "session/train.hpp"

namespace plait::cli {

/// A stretch of a run.
struct BusySigns {
  double step_seconds = 0;
  double usual_seconds = 0;  ///< predicted, or of an earlier stretch; 0: not known
  double others = 0;         ///< cores that other programs kept busy meanwhile
  int cores = 1;
  int workers = 1;
  int threads = 1;  ///< of each worker
};

/// The line to say; "" where the cores suffice for all, or where steps are as fast as usual.
std::string busy_note(const BusySigns& signs);

/// Processor seconds that all programs have used since the machine started: of the first line of
/// /proc/stat. Nothing where it cannot be read.
std::optional<double> busy_seconds(const std::string& proc_stat, double ticks_per_second);

struct BusyCoresOptions {
  int workers = 1;
  int threads = 1;
  std::function<double()> predicted{};  ///< seconds of a step; 0: not known
  std::function<void(const std::string&)> say{};
};

/// Looks every few seconds, between evaluations. For runs whose workers are all in this process.
class BusyCores : public session::TrainObserver {
 public:
  explicit BusyCores(BusyCoresOptions options);

  void step(const session::StepReport& report) override;
  void epoch(const session::EpochReport& report) override;

 private:
  void look();
  void begin_stretch();

  BusyCoresOptions options_;
  int cores_ = 1;
  Stopwatch since_;
  std::int64_t steps_ = 0;
  double all_before_ = 0;
  double own_before_ = 0;
  double fastest_ = 0;  ///< step of an earlier stretch
  bool said_ = false;
};

}  // namespace plait::cli
