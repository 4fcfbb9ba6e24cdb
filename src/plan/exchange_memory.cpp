// Bytes of gradients and weights that are copied for reductions and exchanges under way.
#include "plan/exchange_memory.hpp"

#include <algorithm>
#include <map>

namespace plait::planning {

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

/// The most numbers of reductions (exchanges or not) that are under way at one time, of the tasks
/// of one mode that are at the end of a range or not. Twice through: some are begun in one step and
/// merged in another.
std::int64_t most_under_way(const Plan& plan, const std::vector<Task>& tasks, const Task& like,
                            bool exchanged) {
  std::map<int, std::int64_t> under_way;
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (int again = 0; again < 2; ++again) {
    for (const Task& task : tasks) {
      if (task.mode != like.mode || task.at_end != like.at_end) continue;
      if (task.kind != TaskKind::reduce_start && task.kind != TaskKind::reduce_finish) continue;
      const Bucket& bucket = plan.buckets[static_cast<std::size_t>(task.bucket)];
      if (is_exchanged(bucket) != exchanged) continue;
      std::int64_t& mine = under_way[task.bucket];
      now -= mine;
      mine = task.kind == TaskKind::reduce_start ? copied_numbers(plan, bucket) : 0;
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
  std::map<std::pair<int, bool>, std::int64_t> most;
  for (const Task& task : tasks) {
    if (task.kind != TaskKind::reduce_start) continue;
    const Bucket& bucket = plan.buckets[static_cast<std::size_t>(task.bucket)];
    if (!is_exchanged(bucket)) continue;
    const bool outer = bucket.merge.kind == MergeKind::outer;
    kept += bucket_numbers(plan, bucket) * ((bucket.half || outer ? 1 : 0) + (bucket.half ? 1 : 0));
    const auto [found, is_new] = most.try_emplace({task.mode, task.at_end}, 0);
    if (is_new) found->second = most_under_way(plan, tasks, task, true);
  }
  std::int64_t highest = 0;
  for (const auto& [when, numbers] : most) highest = std::max(highest, numbers);
  return (kept + 2 * highest) * std::int64_t{sizeof(float)};
}

std::int64_t reduced_bytes(const Plan& plan, int worker) {
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  std::int64_t most = 0;
  std::map<std::pair<int, bool>, bool> seen;
  for (const Task& task : tasks) {
    if (task.kind != TaskKind::reduce_start) continue;
    if (!seen.try_emplace({task.mode, task.at_end}, true).second) continue;
    most = std::max(most, most_under_way(plan, tasks, task, false) * plan.wire_bytes);
  }
  return most;
}

std::int64_t copied_bytes(const Plan& plan, int worker) {
  if (plan.depth() == 0) return 0;
  std::int64_t bytes = 0;
  for (const Task& task : plan.programs[static_cast<std::size_t>(worker)].tasks) {
    if (task.kind == TaskKind::send) bytes += wire_bytes(plan, 0, task);
  }
  return bytes;
}

}  // namespace plait::planning
