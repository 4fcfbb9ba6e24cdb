// Bytes of gradients and weights that are copied for reductions and exchanges under way.
#include "plan/exchange_memory.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace plait::plan {

namespace {

bool is_exchanged(const Bucket& bucket) {
  return bucket.payload != Payload::gradient && bucket.payload != Payload::state;
}

/// How many numbers of a bucket are copied to be summed: gradients of a single block travel from
/// where they are, unless they are rounded.
std::int64_t copied_numbers(const Plan& plan, const Bucket& bucket) {
  const bool direct = !is_exchanged(bucket) && bucket.blocks.size() == 1 && plan.wire_bytes == 4;
  return direct ? 0 : bucket_numbers(plan, bucket);
}

/// Tasks of one mode, and those at the end of a range, are not under way with the others.
struct Together {
  int mode = -1;
  bool at_end = false;
  explicit Together(const When& when) : mode(when.mode), at_end(when.at_end) {}
  auto operator<=>(const Together&) const = default;
};

/// The most numbers of reductions (exchanges or not) that are under way at one time, of the tasks
/// of one mode that are at the end of a range or not. Twice through: some are begun in one step and
/// merged in another.
std::int64_t most_under_way(const Plan& plan, const std::vector<Task>& tasks, const Together& like,
                            bool exchanged) {
  std::map<int, std::int64_t> under_way;
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (int again = 0; again < 2; ++again) {
    for (const Task& task : tasks) {
      const auto* reduce = std::get_if<Reduce>(&task.what);
      if (reduce == nullptr || reduce->move == Move::sum || Together(task.when) != like) continue;
      const Bucket& bucket = plan.buckets[static_cast<std::size_t>(reduce->bucket)];
      if (is_exchanged(bucket) != exchanged) continue;
      std::int64_t& mine = under_way[reduce->bucket];
      now -= mine;
      mine = reduce->move == Move::start ? copied_numbers(plan, bucket) : 0;
      now += mine;
      most = std::max(most, now);
    }
  }
  return most;
}

}  // namespace

std::int64_t exchanged_bytes(const Plan& plan, int worker) {
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  std::int64_t kept = 0;
  std::map<Together, std::int64_t> most;
  for (const Task& task : tasks) {
    const auto* reduce = std::get_if<Reduce>(&task.what);
    if (reduce == nullptr || reduce->move != Move::start) continue;
    const Bucket& bucket = plan.buckets[static_cast<std::size_t>(reduce->bucket)];
    if (!is_exchanged(bucket)) continue;
    const bool outer = bucket.merge.kind == MergeKind::outer;
    kept += bucket_numbers(plan, bucket) * ((bucket.half || outer ? 1 : 0) + (bucket.half ? 1 : 0));
    const auto [found, is_new] = most.try_emplace(Together(task.when), 0);
    if (is_new) found->second = most_under_way(plan, tasks, found->first, true);
  }
  std::int64_t highest = 0;
  for (const auto& [when, numbers] : most) highest = std::max(highest, numbers);
  return (kept + 2 * highest) * std::int64_t{sizeof(float)};
}

std::int64_t reduced_bytes(const Plan& plan, int worker) {
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  std::int64_t most = 0;
  std::set<Together> seen;
  for (const Task& task : tasks) {
    const auto* reduce = std::get_if<Reduce>(&task.what);
    if (reduce == nullptr || reduce->move != Move::start) continue;
    const Together together(task.when);
    if (!seen.insert(together).second) continue;
    most = std::max(most, most_under_way(plan, tasks, together, false) * plan.wire_bytes);
  }
  return most;
}

std::int64_t sent_bytes(const Plan& plan, int worker) {
  std::int64_t bytes = 0;
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (is<Send>(task)) bytes += wire_bytes(plan, 0, task);
  }
  return bytes;
}

}  // namespace plait::plan
