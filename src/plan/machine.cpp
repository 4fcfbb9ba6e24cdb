// Links parsed from and printed as text such as 10Gbit/s,50us; limits of machines.
#include "plan/machine.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "base/error.hpp"

namespace plait::plan {

namespace {

struct Unit {
  std::string_view name;
  double scale = 1;

  // 20 / 1e6 is the double nearest to 20e-6, 20 * 1e-6 is not.
  double times(double number) const {
    return scale < 1 ? number / std::round(1 / scale) : number * scale;
  }
  double count(double value) const {
    return scale < 1 ? value * std::round(1 / scale) : value / scale;
  }
};

constexpr std::array<Unit, 10> kRates{{{"bit/s", 1. / 8},
                                       {"kbit/s", 1e3 / 8},
                                       {"Mbit/s", 1e6 / 8},
                                       {"Gbit/s", 1e9 / 8},
                                       {"Tbit/s", 1e12 / 8},
                                       {"B/s", 1},
                                       {"kB/s", 1e3},
                                       {"MB/s", 1e6},
                                       {"GB/s", 1e9},
                                       {"TB/s", 1e12}}};
constexpr std::array<Unit, 4> kTimes{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
constexpr double kMaxRate = 1e15;  ///< bytes per second
constexpr double kMaxLatency = 1000;

/// "12.5GB/s" in bytes per second. NaN where it is no plain number followed by one of the units.
double parse_quantity(std::string_view text, std::span<const Unit> units) {
  double number = std::nan("");
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nan("");  // no sign, inf, nan
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nan("");
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (rest == unit.name) return unit.times(number);
  }
  return std::nan("");
}

/// The text with the shortest number that parse_quantity turns back into exactly `value`. Of
/// equally short ones the first in `units`.
std::string quantity_text(double value, std::span<const Unit> units) {
  std::string best;
  std::size_t shortest = 0;
  for (const Unit& unit : units) {
    const double number = unit.count(value);
    if (value != 0 && (number < 1 || number >= 1000)) continue;
    std::string text = fmt::format("{}{}", number, unit.name);
    if (parse_quantity(text, units) != value) continue;
    const std::size_t digits = text.size() - unit.name.size();
    if (!best.empty() && digits >= shortest) continue;
    shortest = digits;
    best = std::move(text);
  }
  if (!best.empty()) return best;
  for (const Unit& unit : units) {
    if (unit.scale == 1) best = fmt::format("{}{}", value, unit.name);
  }
  return best;
}

}  // namespace

void check_machine(const Machine& machine) {
  if (machine.nodes < 1) user_error("nodes {} is too small; use at least 1", machine.nodes);
  if (machine.workers_per_node < 1) {
    user_error("workers per node {} is too small; use at least 1", machine.workers_per_node);
  }
  const std::int64_t workers = std::int64_t{machine.nodes} * machine.workers_per_node;
  constexpr std::int64_t limit = std::int64_t{1} << 20;
  if (workers > limit) {
    user_error("{} nodes with {} workers each are {} workers; plait plans for at most {}",
               machine.nodes, machine.workers_per_node, workers, limit);
  }
  for (const Link* link : {&machine.inside, &machine.between}) {
    const char* where = link == &machine.inside ? "inside a node" : "between nodes";
    if (!(link->bytes_per_second >= 0) || !std::isfinite(link->bytes_per_second)) {
      user_error("the link {} has {} bytes/s; use a positive rate such as 1Gbit/s", where,
                 link->bytes_per_second);
    }
    if (!(link->latency_seconds >= 0) || !std::isfinite(link->latency_seconds)) {
      user_error("the link {} has a latency of {} s; use one such as 100us", where,
                 link->latency_seconds);
    }
  }
  if (machine.memory_per_worker < 0) {
    user_error("memory per worker {} is negative; use 0 where it is not known",
               machine.memory_per_worker);
  }
}

Link parse_link(std::string_view text, const std::string& name) {
  const std::string shown(text.substr(0, 60));
  const std::size_t comma = text.find(',');
  Link link{.bytes_per_second = parse_quantity(text.substr(0, comma), kRates),
            .latency_seconds = 0};
  if (comma != std::string_view::npos) {
    link.latency_seconds = parse_quantity(text.substr(comma + 1), kTimes);
  }
  if (std::isnan(link.bytes_per_second) || std::isnan(link.latency_seconds)) {
    user_error(
        "{}: '{}' is no link; write a rate (bit/s or B/s, with k, M, G or T) and if wanted a "
        "latency (s, ms, us, ns), for example 1Gbit/s,100us",
        name, shown);
  }
  if (!(link.bytes_per_second > 0) || link.bytes_per_second > kMaxRate) {
    user_error("{}: '{}' is {} bytes/s; the rate must be above 0 and at most 1000TB/s", name, shown,
               link.bytes_per_second);
  }
  if (link.latency_seconds > kMaxLatency) {
    user_error("{}: '{}' has a latency of {} s; it must be at most {} s", name, shown,
               link.latency_seconds, kMaxLatency);
  }
  return link;
}

std::string to_text(const Link& link) {
  if (link.bytes_per_second == 0) return "no time";
  const std::string rate = quantity_text(link.bytes_per_second, kRates);
  if (link.latency_seconds == 0) return rate;
  return fmt::format("{},{}", rate, quantity_text(link.latency_seconds, kTimes));
}

}  // namespace plait::plan
