#include "plan/memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "plan/values.hpp"
#include "plan/versions.hpp"

namespace plait {

using planning::Moment;
using planning::ValueTable;
using planning::ValueUse;

namespace {

constexpr std::size_t kAlignment = 64;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

auto order_of(const Value& value) {
  return std::tuple(value.role, value.index, value.samples.begin, value.samples.end,
                    value.samples.of);
}

/// A packed value is used by its own task only, and until that task ends.
Moment last_of(const Task& task, std::size_t position) {
  return {task.offset, static_cast<int>(position)};
}

/// Walks the program twice: a value may be read before the program's text writes it (in a pipeline
/// the writer can stand further down, with a smaller offset).
void collect_uses(const Plan& plan, int worker, const std::vector<BackwardReads>& reads,
                  ValueTable& table) {
  const std::vector<Task>& tasks = plan.programs.at(static_cast<std::size_t>(worker)).tasks;
  std::vector<Access> list;
  for (const bool writes : {true, false}) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      accesses_into(plan, tasks[i], reads, list);
      for (const Access& access : list) {
        // Where rows are packed, it is the packed ones that travel.
        const bool travels = !packs(tasks[i]) || access.value.role == Role::packed;
        const bool received = tasks[i].kind == TaskKind::receive && travels;
        const Moment moment{tasks[i].offset, received ? -1 : static_cast<int>(i)};
        if (access.writes != writes || is_permanent(access.value.role)) continue;
        int number = writes ? -1 : table.find(access.value);
        bool is_new = false;
        if (number < 0) number = table.intern(access.value, is_new);
        ValueUse& use = table.use(number);
        use.first = is_new ? moment : std::min(use.first, moment);
        use.last = is_new ? moment : std::max(use.last, moment);
        if (access.value.role == Role::packed) use.last = std::max(use.last, last_of(tasks[i], i));
        use.received = use.received || received;
        use.sent = use.sent || (tasks[i].kind == TaskKind::send && travels);
      }
    }
  }
}

/// Minibatch m + copies may be written when m was used for the last time:
/// (copies + first.offset, first.position) > (last.offset, last.position).
Slot slot_of(const ValueUse& use, std::size_t bytes) {
  const int steps = use.last.offset - use.first.offset;
  const int needed = steps + (use.last.position > use.first.position ? 1 : 0);
  Slot slot{.value = use.value, .begin = use.first.position, .end = use.last.position};
  slot.copies = std::max(1, needed);
  slot.shareable = slot.copies == 1 && steps == 0 && !use.sent && !use.received;
  slot.bytes = round_up(bytes);
  return slot;
}

/// Biggest first, each at the lowest offset where nothing that is alive with it lies.
std::size_t place(std::vector<Slot>& slots) {
  std::size_t end = 0;
  std::vector<const Slot*> placed;  // those that share, by offset
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].bytes == 0) continue;
    if (slots[i].shareable) {
      order.push_back(i);
    } else {
      slots[i].offset = end;
      end += slots[i].bytes * static_cast<std::size_t>(slots[i].copies);
    }
  }
  const std::size_t bottom = end;
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return slots[i].bytes; });
  for (std::size_t i : order) {
    Slot& slot = slots[i];
    slot.offset = bottom;
    for (const Slot* other : placed) {
      if (other->end < slot.begin || other->begin > slot.end) continue;
      if (other->offset >= slot.offset + slot.bytes) break;
      slot.offset = std::max(slot.offset, other->offset + other->bytes);
    }
    end = std::max(end, slot.offset + slot.bytes);
    const auto at = std::ranges::upper_bound(placed, slot.offset, {}, &Slot::offset);
    placed.insert(at, &slot);
  }
  return end;
}

/// What has its own place, plus the most bytes of the others that are alive at one time.
std::size_t peak(const std::vector<Slot>& slots, std::size_t positions) {
  std::size_t own = 0;
  std::vector<std::int64_t> change(positions + 1, 0);
  for (const Slot& slot : slots) {
    if (slot.shareable) {
      change[static_cast<std::size_t>(slot.begin)] += static_cast<std::int64_t>(slot.bytes);
      change[static_cast<std::size_t>(slot.end) + 1] -= static_cast<std::int64_t>(slot.bytes);
    } else {
      own += slot.bytes * static_cast<std::size_t>(slot.copies);
    }
  }
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (std::int64_t bytes : change) most = std::max(most, alive += bytes);
  return own + static_cast<std::size_t>(most);
}

std::size_t estimated_size(const Plan& plan, const Value& value) {
  const auto index = static_cast<std::size_t>(value.index);
  const std::int64_t samples = value.samples.count(plan.batch);
  std::int64_t elements = 0;
  switch (value.role) {
    case Role::tensor:
    case Role::diff: elements = plan.network.tensors.at(index) * samples; break;
    case Role::targets: elements = samples; break;
    case Role::saved: elements = plan.network.blocks.at(index).inner_elements * samples; break;
    case Role::pending: {
      const NetworkBlock& block = plan.network.blocks.at(index);
      if (block.parameters > 0) elements = block.inner_elements * samples;
      break;
    }
    case Role::partial: elements = plan.network.blocks.at(index).parameters; break;
    case Role::packed:
      elements =
          value.index < 0
              ? (plan.network.tensors.at(static_cast<std::size_t>(packed_tensor(value.index))) *
                     samples +
                 1) /
                    2
              : static_cast<std::int64_t>(plan.row_lists.at(index / 2).size()) * samples;
      break;
    case Role::weights:
    case Role::gradient:
    case Role::state: break;
  }
  return static_cast<std::size_t>(elements) * sizeof(float);
}

/// Arrays of the size of a block's weights that old versions, or doing without them, take.
std::int64_t old_arrays(const Plan& plan, int versions, int delay) {
  if (plan.old_weights == OldWeights::predicted) return delay > 0 ? 2 : 0;
  if (versions <= 1) return 0;
  if (plan.old_weights == OldWeights::stash) return versions - 1;
  return plan.old_weights == OldWeights::rebuilt ? 2 : versions;
}

/// Weights of every block this worker reads or updates, in all versions; gradient and optimizer's
/// arrays of those it updates; state.
std::int64_t permanent_bytes(const Plan& plan, int worker) {
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  const std::vector<int> versions = weight_versions(plan, worker);
  const std::vector<int> delays = staleness(plan);
  const int outer = has_outer_optimizer(plan) ? 1 : 0;
  std::int64_t elements = 0;
  std::vector<bool> updated(plan.network.blocks.size(), false);
  for (const Task& task : tasks) {
    if (task.kind == TaskKind::update) updated[static_cast<std::size_t>(task.block)] = true;
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const bool collects = worker == 0;  // for checkpoints: all weights and optimizer arrays
    if (versions[i] == 0 && !collects) continue;
    const NetworkBlock& block = plan.network.blocks[i];
    if (block.repeats >= 0) continue;
    std::int64_t arrays = 1 + old_arrays(plan, versions[i], delays[i]);
    if (updated[i]) arrays += 1;
    if (updated[i] || collects) arrays += plan.optimizer_states + outer;
    elements += block.parameters * arrays + block.state * (1 + outer);
  }
  return elements * std::int64_t{sizeof(float)};
}

bool is_exchanged(const Bucket& bucket) {
  return bucket.payload != Payload::gradient && bucket.payload != Payload::state;
}

/// The most numbers of exchanges that are under way at one time, of the tasks of one mode that are
/// at the end of a range or not. Twice through: some are begun in one step and merged in another.
std::int64_t most_under_way(const Plan& plan, const std::vector<Task>& tasks, const Task& like) {
  std::map<int, std::int64_t> under_way;
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (int again = 0; again < 2; ++again) {
    for (const Task& task : tasks) {
      if (task.mode != like.mode || task.at_end != like.at_end) continue;
      if (task.kind != TaskKind::reduce_start && task.kind != TaskKind::reduce_finish) continue;
      const Bucket& bucket = plan.buckets[static_cast<std::size_t>(task.bucket)];
      if (!is_exchanged(bucket)) continue;
      std::int64_t& mine = under_way[task.bucket];
      now -= mine;
      mine = task.kind == TaskKind::reduce_start ? bucket_numbers(plan, bucket) : 0;
      now += mine;
      most = std::max(most, now);
    }
  }
  return most;
}

/// Exchanges of weights and optimizer arrays. What stays: where all were last equal, and what
/// roundings left out. Under way: the values at the start and what travels.
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
    if (is_new) found->second = most_under_way(plan, tasks, task);
  }
  std::int64_t highest = 0;
  for (const auto& [when, numbers] : most) highest = std::max(highest, numbers);
  return (kept + 2 * highest) * std::int64_t{sizeof(float)};
}

/// Where steps overlap, what is sent is copied: about one copy of each message is under way.
std::int64_t copied_bytes(const Plan& plan, const std::vector<Task>& tasks) {
  if (plan.depth() == 0) return 0;
  std::int64_t bytes = 0;
  for (const Task& task : tasks) {
    if (task.kind == TaskKind::send) bytes += wire_bytes(plan, 0, task);
  }
  return bytes;
}

}  // namespace

int MemoryMap::find(const Value& value) const {
  const auto exact = std::ranges::lower_bound(
      slots, order_of(value), {}, [](const Slot& slot) { return order_of(slot.value); });
  if (exact != slots.end() && exact->value == value) return static_cast<int>(exact - slots.begin());
  const auto name = [](const Slot& slot) { return std::tuple(slot.value.role, slot.value.index); };
  const auto wanted = std::tuple(value.role, value.index);
  const Slot* best = nullptr;
  for (auto slot = std::ranges::lower_bound(slots, wanted, {}, name);
       slot != slots.end() && name(*slot) == wanted; ++slot) {
    if (!planning::contains(slot->value.samples, value.samples)) continue;
    if (best == nullptr || planning::smaller(slot->value.samples, best->value.samples)) {
      best = &*slot;
    }
  }
  return best == nullptr ? -1 : static_cast<int>(best - slots.data());
}

MemoryMap map_memory(const Plan& plan, int worker, const SizeOf& size_of,
                     const std::vector<BackwardReads>& reads) {
  ValueTable table;
  collect_uses(plan, worker, reads, table);
  MemoryMap map;
  for (const ValueUse& use : table.uses()) {
    map.slots.push_back(slot_of(use, size_of(use.value)));
  }
  std::ranges::sort(map.slots, {}, [](const Slot& slot) { return order_of(slot.value); });
  map.bytes = place(map.slots);
  return map;
}

std::int64_t estimate_memory(const Plan& plan, int worker) {
  ValueTable table;
  collect_uses(plan, worker, {}, table);
  std::vector<Slot> slots;
  slots.reserve(table.uses().size());
  for (const ValueUse& use : table.uses()) {
    slots.push_back(slot_of(use, estimated_size(plan, use.value)));
  }
  const std::vector<Task>& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
  return static_cast<std::int64_t>(peak(slots, tasks.size())) + permanent_bytes(plan, worker) +
         exchanged_bytes(plan, worker) + copied_bytes(plan, tasks);
}

}  // namespace plait
