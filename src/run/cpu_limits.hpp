// How many processors this process may use by the two limits that a topology does not show: its
// affinity mask (taskset, srun) and the CPU quota of its control groups (containers).
#pragma once

#include <sched.h>

#include <filesystem>
#include <limits>
#include <string>

#include "transport/group.hpp"

namespace plait::run {

/// The mask that this process was started with, whatever plait has pinned since.
const cpu_set_t& initial_affinity();
/// Of all processes on this node together; every member of the job calls it. srun gives each its
/// own processors, or all of them the same.
cpu_set_t affinity_of_node(transport::Group& control);

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// Processors' worth of time that the control groups of a process allow: the least of its group and
/// all above it. `groups` is the text of /proc/PID/cgroup, `mount` where control groups are
/// mounted.
double cgroup_quota(const std::string& groups, const std::filesystem::path& mount);
/// Of this process.
double cpu_quota();

}  // namespace plait::run
