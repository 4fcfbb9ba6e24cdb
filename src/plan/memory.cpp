// Lifetimes of values over two turns of the loop, copies for minibatches in flight, and first-fit
// placement by size.
#include "plan/memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/rounding.hpp"
#include "plan/in_place.hpp"
#include "plan/value_slots.hpp"
#include "plan/values.hpp"
#include "plan/worker_memory.hpp"

namespace plait::plan {

namespace {

/// A packed value is used by its own task only, and until that task ends.
Moment last_of(const Task& task, std::size_t position) {
  return {task.when.offset, static_cast<int>(position)};
}

/// Walks the program twice: a value may be read before the program's text writes it (in a pipeline
/// the writer can stand further down, with a smaller offset).
void collect_uses(const Plan& plan, int worker, const Traits& traits, ValueTable& table) {
  const std::vector<Task>& tasks = plan.programs.at(static_cast<std::size_t>(worker)).tasks;
  std::vector<Access> list;
  for (const bool writes : {true, false}) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      accesses_into(plan, tasks[i], traits, list);
      for (const Access& access : list) {
        // Where rows are packed, it is the packed ones that travel.
        const bool travels = !packs(tasks[i]) || is_packed(access.value.role);
        const bool received = is<Receive>(tasks[i]) && travels;
        const Moment moment{tasks[i].when.offset, received ? -1 : static_cast<int>(i)};
        if (access.writes != writes || is_permanent(access.value.role)) continue;
        int number = writes ? -1 : table.find(access.value);
        bool is_new = false;
        if (number < 0) number = table.intern(access.value, is_new);
        ValueUse& use = table.use(number);
        use.first = is_new ? moment : std::min(use.first, moment);
        use.last = is_new ? moment : std::max(use.last, moment);
        if (is_packed(access.value.role)) use.last = std::max(use.last, last_of(tasks[i], i));
        use.received = use.received || received;
        use.sent = use.sent || (is<Send>(tasks[i]) && travels);
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
  slot.bytes = cache_lines(bytes);
  return slot;
}

/// In this order, each at the lowest offset where nothing that is alive with it lies; gives the
/// end.
std::size_t place_in_order(std::vector<Slot>& slots, const std::vector<std::size_t>& order,
                           std::size_t bottom) {
  std::size_t end = bottom;
  std::vector<const Slot*> placed;  // by offset
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

/// The biggest first, or what lives longest, or both counted: whichever needs least.
std::size_t place(std::vector<Slot>& slots) {
  std::size_t bottom = 0;
  std::vector<std::size_t> by_size;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].bytes == 0 || !slots[i].leads) continue;
    if (slots[i].shareable) {
      by_size.push_back(i);
    } else {
      slots[i].offset = bottom;
      bottom += slots[i].bytes * static_cast<std::size_t>(slots[i].copies);
    }
  }
  std::ranges::stable_sort(by_size, std::ranges::greater{},
                           [&](std::size_t i) { return slots[i].bytes; });
  const auto sorted_by = [&](const auto& key) {
    std::vector<std::size_t> order = by_size;
    std::ranges::stable_sort(order, std::ranges::greater{}, key);
    return order;
  };
  const auto life = [&](std::size_t i) {
    return static_cast<std::size_t>(slots[i].end - slots[i].begin + 1);
  };
  const std::vector<std::vector<std::size_t>> orders{
      by_size, sorted_by(life), sorted_by([&](std::size_t i) { return life(i) * slots[i].bytes; })};
  std::vector<std::size_t> ends;
  for (const auto& order : orders) ends.push_back(place_in_order(slots, order, bottom));
  const auto best = std::ranges::min_element(ends);
  const std::size_t end =
      place_in_order(slots, orders[static_cast<std::size_t>(best - ends.begin())], bottom);
  std::map<int, std::size_t> offsets;
  for (const Slot& slot : slots) {
    if (slot.leads) offsets[slot.memory] = slot.offset;
  }
  for (Slot& slot : slots) slot.offset = offsets.at(slot.memory);
  return end;
}

}  // namespace

int MemoryMap::find(const Value& value) const {
  const auto exact = std::ranges::lower_bound(slots, value, {}, &Slot::value);
  if (exact != slots.end() && exact->value == value) return static_cast<int>(exact - slots.begin());
  const auto name = [](const Slot& slot) { return std::tuple(slot.value.role, slot.value.index); };
  const auto wanted = std::tuple(value.role, value.index);
  const Slot* best = nullptr;
  for (auto slot = std::ranges::lower_bound(slots, wanted, {}, name);
       slot != slots.end() && name(*slot) == wanted; ++slot) {
    if (!contains(slot->value.samples, value.samples)) continue;
    if (best == nullptr || smaller(slot->value.samples, best->value.samples)) {
      best = &*slot;
    }
  }
  return best == nullptr ? -1 : static_cast<int>(best - slots.data());
}

std::vector<Slot> value_slots(const Plan& plan, int worker, const SizeOf& size_of,
                              const Traits& traits) {
  ValueTable table;
  collect_uses(plan, worker, traits, table);
  std::vector<Slot> slots;
  std::vector<InPlaceValue> values;
  slots.reserve(table.uses().size());
  for (const ValueUse& use : table.uses()) {
    slots.push_back(slot_of(use, size_of(use.value)));
    values.push_back({.in_step = slots.back().copies == 1 && use.last.offset == use.first.offset,
                      .travels = use.sent || use.received,
                      .sent = use.sent,
                      .bytes = slots.back().bytes});
  }
  const std::vector<int> homes = share_in_place(plan, worker, traits, table, values);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].memory = homes[i];
    slots[i].leads = homes[i] == static_cast<int>(i);
    Slot& home = slots[static_cast<std::size_t>(homes[i])];
    home.shareable = home.shareable && slots[i].shareable;
    home.begin = std::min(home.begin, slots[i].begin);
    home.end = std::max(home.end, slots[i].end);
  }
  return slots;
}

std::size_t peak_bytes(const std::vector<Slot>& slots, std::size_t positions) {
  std::size_t own = 0;
  std::vector<std::int64_t> change(positions + 1, 0);
  for (const Slot& slot : slots) {
    if (!slot.leads) continue;
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

MemoryMap map_memory(const Plan& plan, int worker, const SizeOf& size_of, const Traits& traits) {
  MemoryMap map;
  map.slots = value_slots(plan, worker, size_of, traits);
  std::ranges::sort(map.slots, {}, &Slot::value);
  map.bytes = place(map.slots);
  return map;
}

std::int64_t estimate_memory(const Plan& plan, int worker) {
  return MemoryForecast(plan).of(worker).total();
}

}  // namespace plait::plan
