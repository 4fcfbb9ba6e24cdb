// Compares the processor time of all programs (/proc/stat) with our own over stretches of steps,
// and decides when a note is due.
#include "cli/busy_cores.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "run/cores.hpp"

namespace plait::cli {

namespace {

constexpr double kStretchSeconds = 3;
constexpr std::int64_t kFewestSteps = 3;
constexpr double kSlower = 1.3;    // times the usual step
constexpr double kWorthIt = 0.5;   // of a core
constexpr double kTooMuch = 0.25;  // cores more than there are

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

double all_seconds() {
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return busy_seconds(first_line("/proc/stat"), ticks).value_or(0);
}

double own_seconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::string busy_note(const BusySigns& signs) {
  const int own = signs.workers * signs.threads;
  const bool crowded = signs.others >= kWorthIt && own + signs.others > signs.cores + kTooMuch;
  const bool known = signs.usual_seconds > 0;
  if (!crowded || (known && signs.step_seconds < kSlower * signs.usual_seconds)) return "";
  std::string text;
  if (known) {
    text = fmt::format("slow steps: {:.1f} ms, not {:.1f}; ", 1e3 * signs.step_seconds,
                       1e3 * signs.usual_seconds);
  }
  text += fmt::format("other programs use {:.1f} of {} cores", signs.others, signs.cores);
  const int room = std::max(1, static_cast<int>(std::floor(signs.cores - signs.others + 0.25)));
  const int threads = std::max(1, room / signs.workers);
  if (threads < signs.threads) return text + fmt::format("; try --threads {}", threads);
  if (signs.workers > 1)
    return text + fmt::format("; try --workers {}", std::min(room, signs.workers - 1));
  return text;
}

std::optional<double> busy_seconds(const std::string& proc_stat, double ticks_per_second) {
  // cpu  user nice system idle iowait irq softirq steal ...
  std::istringstream words(proc_stat);
  std::string name;
  double user = 0;
  double nice = 0;
  double system = 0;
  if (!(words >> name >> user >> nice >> system) || name != "cpu" || !(ticks_per_second > 0)) {
    return std::nullopt;
  }
  return (user + nice + system) / ticks_per_second;
}

BusyCores::BusyCores(BusyCoresOptions options)
    : options_(std::move(options)), cores_(run::usable_cores()) {
  begin_stretch();
}

void BusyCores::begin_stretch() {
  since_ = Stopwatch();
  steps_ = 0;
  all_before_ = all_seconds();
  own_before_ = own_seconds();
}

void BusyCores::step(const session::StepReport&) {
  if (said_) return;
  if (steps_ < 0) return begin_stretch();  // evaluation is over
  ++steps_;
  if (steps_ >= kFewestSteps && since_.seconds() >= kStretchSeconds) look();
}

void BusyCores::epoch(const session::EpochReport&) { steps_ = -1; }

void BusyCores::look() {
  const double seconds = since_.seconds();
  const double others = (all_seconds() - all_before_) - (own_seconds() - own_before_);
  const double step = seconds / static_cast<double>(steps_);
  const double predicted = options_.predicted ? options_.predicted() : 0;
  double usual = predicted;
  if (fastest_ > 0 && (usual == 0 || fastest_ < usual)) usual = fastest_;
  const std::string note = busy_note({.step_seconds = step,
                                      .usual_seconds = usual,
                                      .others = std::max(0.0, others / seconds),
                                      .cores = cores_,
                                      .workers = options_.workers,
                                      .threads = options_.threads});
  fastest_ = fastest_ > 0 ? std::min(fastest_, step) : step;
  if (!note.empty()) {
    said_ = true;
    options_.say(note);
  }
  begin_stretch();
}

}  // namespace plait::cli
