// Watch: a thread that looks at the workers' status and ends the job when one has died or nothing
// moves any more, saying who was doing what.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "plan/plan.hpp"
#include "run/status.hpp"

namespace plait::session {

struct WatchOptions {
  double stall_seconds = 60;  ///< 0: stalls are nobody's business
  /// Ranks of this process: their stalls are reported from here, and where they live no death is
  /// looked for.
  std::vector<int> own;
  /// A line about workers of other nodes that are gone, "" while there are none; looked at from
  /// the watch's thread.
  std::function<std::string()> lost{};
};

class Watch {
 public:
  /// `trouble(line)` is called once at most, from the watch's thread.
  Watch(const plan::Plan& plan, transport::Board& board, WatchOptions options,
        std::function<void(const std::string&)> trouble);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void look();
  /// "" while all is well.
  std::string death() const;
  std::string stall() const;
  /// How long it has been where it is, as far as this process was awake to see it.
  double silence(int member) const;
  std::string what(int member) const;

  const plan::Plan& plan_;
  transport::Board& board_;
  WatchOptions options_;
  std::function<void(const std::string&)> trouble_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  double awake_since_;
  std::thread thread_;
};

}  // namespace plait::session
