// hwloc: the cores within the limits of the process, and the binding of threads to them.
#include "run/cores.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "run/cpu_limits.hpp"
#include "transport/mpi.hpp"

namespace plait::run {

namespace {

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

/// Null when the system cannot be read; callers then do without.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

/// Processors of the job's processes on this node: what the system allows, and of that the affinity
/// mask that the process was started with. A binding by mpirun is no limit: it gives each of two
/// processes one core, however many there are.
Bitmap limits(hwloc_topology_t topology, const cpu_set_t& affinity) {
  Bitmap set(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  if (transport::launched_by_mpirun()) return set;
  const Bitmap mask(hwloc_bitmap_alloc());
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &affinity)) hwloc_bitmap_set(mask.get(), cpu);
  }
  if (hwloc_bitmap_intersects(mask.get(), set.get()) != 0) {
    hwloc_bitmap_and(set.get(), set.get(), mask.get());
  }
  return set;
}

/// The processors of `allowed` on each core that has any.
std::vector<Bitmap> cores_of(hwloc_topology_t topology, hwloc_const_bitmap_t allowed) {
  std::vector<Bitmap> cores;
  const int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t core =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    Bitmap set(hwloc_bitmap_alloc());
    hwloc_bitmap_and(set.get(), core->cpuset, allowed);
    if (hwloc_bitmap_iszero(set.get()) == 0) cores.push_back(std::move(set));
  }
  return cores;
}

void widen_if_narrow(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, int threads) {
  const Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_THREAD) != 0) return;
  if (hwloc_bitmap_weight(bound.get()) >= threads) return;
  hwloc_set_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD);
}

}  // namespace

int usable_cores() { return usable_cores(initial_affinity()); }

int usable_cores(const cpu_set_t& mask) {
  const Topology topology = load_topology();
  if (!topology) return 1;
  const Bitmap allowed = limits(topology.get(), mask);
  const auto cores = static_cast<double>(cores_of(topology.get(), allowed.get()).size());
  return std::max(1, static_cast<int>(std::min(cores, cpu_quota())));
}

bool pin_this_thread(const Pinning& pinning) {
  if (pinning.mode == "none") return false;
  const Topology topology = load_topology();
  if (!topology) return false;
  const Bitmap allowed = limits(topology.get(), initial_affinity());
  const std::vector<Bitmap> cores = cores_of(topology.get(), allowed.get());
  const int wanted = pinning.workers * pinning.threads;
  const int there = static_cast<int>(cores.size());
  const bool fills = pinning.workers > 1 && wanted == there;
  if (wanted > there || (pinning.mode == "auto" && !fills)) {
    widen_if_narrow(topology.get(), allowed.get(), pinning.threads);
    return false;
  }
  const Bitmap mine(hwloc_bitmap_alloc());
  const int first = pinning.place * pinning.threads;
  for (int i = first; i < first + pinning.threads; ++i) {
    hwloc_bitmap_or(mine.get(), mine.get(), cores[static_cast<std::size_t>(i)].get());
  }
  return hwloc_set_cpubind(topology.get(), mine.get(), HWLOC_CPUBIND_THREAD) == 0;
}

void check_pinning(const std::string& mode) {
  const std::vector<std::string> known{"auto", "cores", "none"};
  if (std::ranges::find(known, mode) == known.end()) {
    setting_error("pin", mode, "is not known{}; there are: auto, cores, none",
                  did_you_mean(mode, known));
  }
}

}  // namespace plait::run
