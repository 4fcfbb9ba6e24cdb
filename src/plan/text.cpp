// The page of a plan: machine, groups, buckets, staleness, and equal programs shown once.
#include "plan/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "plan/text_program.hpp"
#include "plan/worker_memory.hpp"

namespace plait::plan {

namespace {

constexpr std::size_t kMostGroups = 8;
constexpr std::size_t kMostBuckets = 64;

/// About three digits and a unit: 1503238553 -> "1.50 G". Small numbers have none: "660 ".
std::string with_unit(std::int64_t number) {
  constexpr std::string_view units = "kMGTPE";
  if (number < 1000) return fmt::format("{} ", number);
  double value = static_cast<double>(number) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5; ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

std::string size_text(std::int64_t bytes) { return with_bytes(bytes); }

std::string counted(std::int64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// "0-3, 5".
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (end - i > 1) text += fmt::format("-{}", numbers[end - 1]);
    i = end;
  }
  return text;
}

std::string workers_text(const std::vector<int>& workers) {
  return (workers.size() == 1 ? "worker " : "workers ") + ranges(workers);
}

/// Appends lines, broken at spaces so that none is longer than `width`.
class Page {
 public:
  explicit Page(int width) : width_(static_cast<std::size_t>(std::max(width, 40))) {}

  /// What does not fit goes on `hang` columns from the left.
  void line(const std::string& text, std::size_t hang = 8) {
    std::string rest = text;
    while (rest.size() > width_) {
      const std::size_t cut = rest.rfind(' ', width_);
      if (cut == std::string::npos || cut <= hang) break;
      text_ += rest.substr(0, cut) + '\n';
      rest = std::string(hang, ' ') + rest.substr(cut + 1);
    }
    text_ += rest + '\n';
  }
  void row(std::string_view word, const std::string& text) {
    line(fmt::format("  {:<10} {}", word, text), 13);
  }
  std::string take() { return std::move(text_); }

 private:
  std::size_t width_;
  std::string text_;
};

std::string machine_text(const Machine& machine) {
  std::string text =
      counted(machine.nodes, "node") + " with " + counted(machine.workers_per_node, "worker");
  if (machine.nodes > 1) text += " each";
  if (machine.workers_per_node > 1 && machine.inside.bytes_per_second > 0) {
    text += "; inside a node " + to_text(machine.inside);
  }
  if (machine.nodes > 1 && machine.between.bytes_per_second > 0) {
    text += "; between nodes " + to_text(machine.between);
  }
  if (machine.memory_per_worker > 0) {
    text += "; " + size_text(machine.memory_per_worker) + " per worker";
  }
  return text;
}

void show_groups(const Plan& plan, Page& page) {
  const auto size = [](const std::vector<int>& group) { return group.size(); };
  if (plan.groups.size() > kMostGroups) {
    const auto [low, high] = std::ranges::minmax(plan.groups, {}, size);
    page.row("groups", low.size() == high.size()
                           ? fmt::format("{} of {}", plan.groups.size(),
                                         counted(static_cast<std::int64_t>(low.size()), "worker"))
                           : fmt::format("{} of {} to {} workers", plan.groups.size(), low.size(),
                                         high.size()));
    return;
  }
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    page.row(fmt::format("group {}", g), workers_text(plan.groups[g]));
  }
}

void show_buckets(const Plan& plan, Page& page) {
  for (std::size_t b = 0; b < std::min(plan.buckets.size(), kMostBuckets); ++b) {
    const Bucket& bucket = plan.buckets[b];
    page.row(fmt::format("bucket {}", b), fmt::format("{} of {}, {}", name_of(bucket.payload),
                                                      block_list(plan.network, bucket.blocks),
                                                      size_text(bucket_bytes(plan, bucket))));
  }
  if (plan.buckets.size() > kMostBuckets) {
    page.row("", fmt::format("and {} more buckets", plan.buckets.size() - kMostBuckets));
  }
}

void show_staleness(const Plan& plan, Page& page) {
  const std::vector<int> late = staleness(plan);
  if (std::ranges::all_of(late, [](int updates) { return updates == 0; })) return;
  std::string text;
  for (std::size_t i = 0; i < late.size();) {
    std::vector<int> blocks;
    std::size_t end = i;
    for (; end < late.size() && late[end] == late[i]; ++end)
      blocks.push_back(static_cast<int>(end));
    text += fmt::format("{}{} for {}", text.empty() ? "" : ", ", late[i],
                        block_list(plan.network, blocks));
    i = end;
  }
  page.row("staleness", text);
}

/// Workers whose programs differ in their samples only.
struct Cluster {
  std::vector<int> workers;
  std::vector<Samples> parts;
  std::vector<Task> tasks;
};

std::vector<Cluster> clusters_of(const Plan& plan) {
  std::vector<Cluster> clusters;
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const std::vector<Task>& own = plan.programs[static_cast<std::size_t>(worker)].tasks;
    const Samples part = envelope(own);
    std::vector<Task> tasks = relative_to(part, plan, own);
    auto found = std::ranges::find(clusters, tasks, &Cluster::tasks);
    if (found == clusters.end()) {
      clusters.push_back({.workers = {}, .parts = {}, .tasks = std::move(tasks)});
      found = clusters.end() - 1;
    }
    found->workers.push_back(worker);
    found->parts.push_back(part);
  }
  return clusters;
}

/// ", each its eighth of the batch".
std::string share_text(const Cluster& cluster) {
  constexpr std::array<std::string_view, 9> words{"",      "",      "half",    "third", "quarter",
                                                  "fifth", "sixth", "seventh", "eighth"};
  const Samples& first = cluster.parts.front();
  const int size = first.end - first.begin;
  if (size == first.of) return "";
  const bool equal = std::ranges::all_of(cluster.parts, [&](const Samples& part) {
    return part.of == first.of && part.end - part.begin == size;
  });
  const bool alone = cluster.workers.size() == 1;
  if (!equal || first.of % size != 0 || first.begin % size != 0) {
    return alone ? fmt::format(", parts {} to {} of {} of the batch", first.begin + 1, first.end,
                               first.of)
                 : ", each its part of the batch";
  }
  const int shares = first.of / size;
  if (alone) return fmt::format(", part {} of {} of the batch", first.begin / size + 1, shares);
  const auto place = static_cast<std::size_t>(shares);
  return fmt::format(", each its {} of the batch", place < words.size()
                                                       ? std::string(words[place])
                                                       : fmt::format("1/{}", shares));
}

void show_cluster(const Plan& plan, const Cluster& cluster, Page& page) {
  std::int64_t bytes = 0;
  MemoryForecast forecast(plan);
  for (int worker : cluster.workers) bytes = std::max(bytes, forecast.of(worker).total());
  page.line("");
  page.line(fmt::format("{}{}; about {} of memory{}", workers_text(cluster.workers),
                        share_text(cluster), size_text(bytes),
                        cluster.workers.size() == 1 ? "" : " each"));
  for (const std::string& line : program_text(plan, cluster.tasks)) {
    page.line("  " + line);
  }
}

}  // namespace

std::string show(const Plan& plan, int width) {
  Page page(width);
  page.line(fmt::format("{}: {} on {}", plan.strategy, plan.network.name,
                        counted(plan.workers(), "worker")));
  page.row("machine", machine_text(plan.machine));
  page.row(
      "network",
      fmt::format("{}, {} of parameters, {}MAC per sample", counted(plan.network.size(), "block"),
                  size_text(plan.network.parameters() * 4), with_unit(plan.network.macs())));
  page.row("batch",
           counted(plan.batch, "sample") +
               (plan.microbatches == 1 ? std::string{}
                                       : fmt::format(" in {} microbatches", plan.microbatches)));
  if (plan.depth() > 0) {
    page.row("depth", fmt::format("a minibatch takes {} steps, one begins with every step",
                                  plan.depth() + 1));
  }
  show_groups(plan, page);
  show_buckets(plan, page);
  show_staleness(plan, page);
  for (const Cluster& cluster : clusters_of(plan)) show_cluster(plan, cluster, page);
  return page.take();
}

}  // namespace plait::plan
