// The limits of a process: its affinity mask and the quota of its control groups.
#include "run/cpu_limits.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "run/cores.hpp"
#include "temp_folder.hpp"
#include "transport/threads.hpp"

namespace plait::run {
namespace {

namespace fs = std::filesystem;

class CpuQuota : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((mount_ / file).parent_path());
    std::ofstream(mount_ / file) << text;
  }
  const TempFolder temporary_;
  const fs::path mount_ = temporary_.path();
};

TEST_F(CpuQuota, IsTheLeastOfAllGroupsAboveAProcess) {
  const std::string groups = "0::/batch/job\n";
  EXPECT_EQ(cgroup_quota(groups, mount_), kNoQuota);
  write("batch/cpu.max", "max 100000\n");
  write("batch/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_quota(groups, mount_), 4);
  write("batch/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_quota(groups, mount_), 1.5);
  EXPECT_EQ(cgroup_quota("0::/\n", mount_), kNoQuota);
  write("cpu.max", "50000 100000\n");  // of a container that sees its own group as the top
  EXPECT_EQ(cgroup_quota("0::/\n", mount_), 0.5);
}

TEST_F(CpuQuota, OfVersionOneIsInTwoFiles) {
  const std::string groups = "5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/\n";
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_quota(groups, mount_), kNoQuota);
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(cgroup_quota(groups, mount_), 3);
}

TEST_F(CpuQuota, DamagedFilesLimitNothing) {
  for (const char* text : {"", "many", "-5 100000", "100000 0", "100000"}) {
    write("cpu.max", text);
    EXPECT_EQ(cgroup_quota("0::/\n", mount_), kNoQuota) << text;
  }
  EXPECT_EQ(cgroup_quota("no colons\n:\n::\n", mount_), kNoQuota);
}

TEST(Cores, OfAMaskAreNoMoreThanItsProcessors) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &initial_affinity())) continue;
    CPU_SET(cpu, &one);
    break;
  }
  EXPECT_EQ(usable_cores(one), 1);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&initial_affinity()));
}

TEST(Cores, OfANodeAreThoseOfItsMembersTogether) {
  transport::ThreadWorld world({.nodes = 2, .members_per_node = 2});
  transport::run_members(world, [&](int rank) {
    const std::unique_ptr<transport::Group> control = world.control_group(rank);
    const cpu_set_t node = affinity_of_node(*control);
    EXPECT_TRUE(CPU_EQUAL(&node, &initial_affinity()));  // threads of one process
  });
}

}  // namespace
}  // namespace plait::run
