#include "cli/straggler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plait {

namespace {

constexpr double kNoticed = 2;  // times the others'

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace

std::optional<Straggler> find_straggler(const std::vector<WorkerFigures>& predicted,
                                        const std::vector<WorkerFigures>& measured) {
  const std::size_t workers = measured.size();
  if (workers < 2 || predicted.size() != workers) return std::nullopt;
  // Seconds per predicted second, up to a factor that all have in common.
  std::vector<double> slow;
  for (std::size_t w = 0; w < workers; ++w) {
    if (predicted[w].busy <= 0) return std::nullopt;
    slow.push_back(measured[w].busy / predicted[w].busy);
  }
  const auto worst = static_cast<std::size_t>(std::ranges::max_element(slow) - slow.begin());
  std::vector<double> others = slow;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(worst));
  const double usual = median(others);
  if (usual <= 0 || slow[worst] < kNoticed * usual) return std::nullopt;
  // At the others' pace the busiest worker sets the step's time.
  double busiest = measured[worst].busy * usual / slow[worst];
  for (std::size_t w = 0; w < workers; ++w) {
    if (w != worst) busiest = std::max(busiest, measured[w].busy);
  }
  return Straggler{.worker = static_cast<int>(worst),
                   .times = slow[worst] / usual,
                   .cost = std::max(0.0, measured[worst].busy - busiest)};
}

std::string straggler_text(const Straggler& straggler) {
  return fmt::format(
      "worker {} is the straggler: it computes {:.1f} times as long as the others for the same "
      "work, which costs up to {:.0f}% of the run's time; look at what else its core or node does",
      straggler.worker, straggler.times, 100 * straggler.cost);
}

}  // namespace plait
