// Which numbers of workers, pieces, replicas and sweeps fit together, near those that do not.
#pragma once

#include <functional>
#include <string>

namespace plait::strategy {

/// Numbers that a parareal plan is asked for.
struct TearNumbers {
  int workers = 1;
  int pieces = 2;
  int replicas = 1;
  int sweeps = 1;
  bool operator==(const TearNumbers&) const = default;
};

/// "use `workers` 4 `replicas` 2 or `pieces` 3": what to change in `asked` so that it works, at
/// most two ways, the smallest changes first, each tried with `works`. "use another strategy, ..."
/// where there is none with at most `most` pieces.
std::string tear_advice(const TearNumbers& asked, int most,
                        const std::function<bool(const TearNumbers&)>& works);

}  // namespace plait::strategy
