// Looks every 50 ms for dead or stalled members, and composes the line that says what they were
// doing.
#include "session/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace plait::session {

namespace {

constexpr auto kPeriod = std::chrono::milliseconds(50);
/// Whoever has not looked for so long was suspended (Ctrl-Z, a batch system, a laptop's lid):
/// nothing could move, and patience begins anew.
constexpr double kAsleep = 2;
/// Getting ready, evaluating and saving bring few events: so many times the usual patience.
constexpr double kUnhurried = 10;

run::WorkerState state_of(const run::WorkerStatus& status) {
  return static_cast<run::WorkerState>(status.state.load(std::memory_order_relaxed));
}

const char* verb_of(run::WorkerState state) {
  if (state == run::WorkerState::waiting) return "waits";
  return state == run::WorkerState::working ? "works" : "is";
}

}  // namespace

Watch::Watch(const plan::Plan& plan, transport::Board& board, WatchOptions options,
             std::function<void(const std::string&)> trouble)
    : plan_(plan),
      board_(board),
      options_(std::move(options)),
      trouble_(std::move(trouble)),
      awake_since_(now_seconds()) {
  for (const int member : options_.own)
    run::status_of(board_, member).set(run::WorkerState::absent);
  thread_ = std::thread([this] { look(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watch::look() {
  std::unique_lock lock(mutex_);
  double looked = now_seconds();
  while (!ended_.wait_for(lock, kPeriod, [this] { return end_; })) {
    const double now = now_seconds();
    if (now - std::exchange(looked, now) > kAsleep) awake_since_ = now;
    std::string line = death();
    if (line.empty() && options_.lost) line = options_.lost();
    if (line.empty()) line = stall();
    if (line.empty()) continue;
    lock.unlock();
    trouble_(line);
    return;
  }
}

std::string Watch::what(int member) const {
  const run::WorkerStatus& status = run::status_of(board_, member);
  const auto state = state_of(status);
  if (state == run::WorkerState::absent) return "getting ready";
  const auto& tasks = plan_.programs[static_cast<std::size_t>(member)].tasks;
  const auto position = static_cast<std::size_t>(status.task.load());
  const char* where = state == run::WorkerState::elsewhere   ? "between two steps, after"
                      : state == run::WorkerState::unhurried ? "evaluating or saving, after"
                      : state == run::WorkerState::finished  ? "at the end, after"
                                                             : "in";
  return fmt::format("{} {} (minibatch {}, step {})", where,
                     position < tasks.size() ? plan::describe(plan_, tasks[position]) : "a task",
                     status.minibatch.load() + 1, status.step.load() + 1);
}

/// Nobody leaves before all have ended their watches, so whoever is gone has died.
std::string Watch::death() const {
  const auto mine = [&](int member) {
    return std::ranges::find(options_.own, member) != options_.own.end();
  };
  for (const int member : board_.members()) {
    if (mine(member) || board_.alive(member)) continue;
    return fmt::format("worker {} died {}", member, what(member));
  }
  return "";
}

double Watch::silence(int member) const {
  const std::int64_t since = run::status_of(board_, member).since_ns.load();
  return since == 0 ? 0 : now_seconds() - std::max(1e-9 * static_cast<double>(since), awake_since_);
}

/// While all are in tasks, one that is silent is enough. Between steps many may wait for one that
/// works: there all must be silent.
std::string Watch::stall() const {
  if (options_.stall_seconds <= 0) return "";
  const std::vector<int> members = board_.members();
  const auto state = [&](int member) { return state_of(run::status_of(board_, member)); };
  const auto in_task = [&](int member) {
    return state(member) == run::WorkerState::working || state(member) == run::WorkerState::waiting;
  };
  const auto unhurried = [&](int member) {
    return state(member) == run::WorkerState::absent ||
           state(member) == run::WorkerState::unhurried;
  };
  const double patience =
      options_.stall_seconds * (std::ranges::any_of(members, unhurried) ? kUnhurried : 1);
  const auto silent = [&](int member) { return silence(member) > patience; };
  const bool stalled = std::ranges::all_of(members, in_task)
                           ? std::ranges::any_of(options_.own, silent)
                           : std::ranges::all_of(members, silent);
  if (!stalled) return "";
  std::string line = fmt::format("no progress for {} s:", patience);
  for (const int member : members) {
    line += fmt::format("{} worker {} {} {} for {:.0f} s", member == members.front() ? "" : ";",
                        member, verb_of(state(member)), what(member), silence(member));
  }
  return line + "; `stall_seconds` sets the patience";
}

}  // namespace plait::session
