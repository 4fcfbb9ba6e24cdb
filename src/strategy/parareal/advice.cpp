// Searches numbers near those asked for that can be planned, those with the fewest changes first.
#include "strategy/parareal/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <vector>

namespace plait::strategy {

namespace {

std::string flags(const TearNumbers& asked, const TearNumbers& way) {
  std::string text;
  const auto add = [&](const char* flag, int before, int now) {
    if (before != now) text += fmt::format("{}{} {}", text.empty() ? "" : " ", flag, now);
  };
  add("`workers`", asked.workers, way.workers);
  add("`pieces`", asked.pieces, way.pieces);
  add("`replicas`", asked.replicas, way.replicas);
  add("`sweeps`", asked.sweeps, way.sweeps);
  return text;
}

/// Fewer settings to change first; replicas of one worker each have nothing torn to gain from.
auto price(const TearNumbers& asked, const TearNumbers& way) {
  const int changes = (way.workers != asked.workers) + (way.pieces != asked.pieces) +
                      (way.replicas != asked.replicas) + (way.sweeps != asked.sweeps);
  const bool alone = way.workers == way.replicas && way.workers > 1;
  return std::tuple(alone, changes, std::abs(way.workers - asked.workers),
                    std::abs(way.pieces - asked.pieces), std::abs(way.sweeps - asked.sweeps));
}

/// Numbers near those asked for, in which nothing is left over.
std::vector<TearNumbers> nearby(const TearNumbers& asked, int most) {
  std::vector<TearNumbers> ways;
  for (const int pieces : {asked.workers / asked.replicas, asked.pieces, asked.sweeps, most, 2}) {
    if (pieces < 2 || pieces > most) continue;
    for (const int replicas : {asked.replicas, asked.workers / pieces, 1}) {
      if (replicas < 1) continue;
      for (const int workers : {asked.workers, pieces * replicas}) {
        for (const int sweeps : {asked.sweeps, std::min(asked.sweeps, pieces)}) {
          const TearNumbers way{workers, pieces, replicas, sweeps};
          const bool known = std::ranges::find(ways, way) != ways.end();
          if (!known && way != asked) ways.push_back(way);
        }
      }
    }
  }
  std::ranges::stable_sort(ways, {}, [&](const TearNumbers& way) { return price(asked, way); });
  return ways;
}

}  // namespace

std::string tear_advice(const TearNumbers& asked, int most,
                        const std::function<bool(const TearNumbers&)>& works) {
  constexpr std::size_t kWays = 2;
  std::vector<std::string> found;
  for (const TearNumbers& way : nearby(asked, most)) {
    if (found.size() == kWays) break;
    if (works(way)) found.push_back(flags(asked, way));
  }
  if (found.empty()) return "use another strategy, such as data_parallel or layerpipe";
  return fmt::format("use {}", fmt::join(found, " or "));
}

}  // namespace plait::strategy
