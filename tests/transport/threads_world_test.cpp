// What only threads promise: memory that is handed over, sleep that costs nothing, a board.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "transport/contract_tools.hpp"
#include "transport/mpi.hpp"
#include "transport/process.hpp"
#include "transport/threads.hpp"

namespace plait::transport {
namespace {

TEST(ThreadWorld, HandsOverTheSendersMemory) {
  ThreadWorld world({.members_per_node = 2});
  const std::unique_ptr<Group> sender = world.group(0);
  const std::unique_ptr<Group> receiver = world.group(1);
  std::vector<std::byte> bytes(100);
  Request send = sender->isend(bytes, 1, 0);
  Incoming incoming = receiver->ireceive(bytes.size(), 0, 0);
  EXPECT_EQ(incoming.wait().data(), bytes.data());
  EXPECT_FALSE(send.done());
  incoming.release();
  EXPECT_TRUE(send.done());
}

TEST(ThreadWorld, CopiesAsSoonAsBothSidesAreThere) {
  ThreadWorld world({.members_per_node = 2});
  const std::unique_ptr<Group> sender = world.group(0);
  const std::unique_ptr<Group> receiver = world.group(1);
  std::vector<std::byte> bytes(100, std::byte{3});
  std::vector<std::byte> received(100);
  Request send = sender->isend(bytes, 1, 0);
  EXPECT_FALSE(send.done());
  const Request receive = receiver->irecv(received, 0, 0);
  EXPECT_TRUE(send.done());
  EXPECT_TRUE(receive.done());
  EXPECT_EQ(received, bytes);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](timeval t) { return t.tv_sec + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(ThreadWorld, WaitingBurnsNoCore) {
  ThreadWorld world({.members_per_node = 2});
  run_members(world, [&](int rank) {
    const std::unique_ptr<Group> group = world.group(rank);
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double before = cpu_seconds();
    group->barrier();
    EXPECT_LT(cpu_seconds() - before, 0.1);
  });
}

TEST(ThreadWorld, HasABoardThatAllMembersRead) {
  ThreadWorld world({.nodes = 2, .members_per_node = 2, .board_bytes = 100});
  run_members(world, [&](int rank) {
    Board& board = world.board();
    EXPECT_EQ(board.members().size(), 4U);
    const std::span<std::byte> mine = board.piece(rank);
    ASSERT_EQ(mine.size(), 100U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mine.data()) % 64, 0U);
    std::atomic_ref<int>(*reinterpret_cast<int*>(mine.data())).store(rank + 10);
    world.control_group(rank)->barrier();
    for (const int member : board.members()) {
      EXPECT_TRUE(board.alive(member));
      std::atomic_ref<int> seen(*reinterpret_cast<int*>(board.piece(member).data()));
      EXPECT_EQ(seen.load(), member + 10);
    }
  });
}

TEST(ThreadWorld, RefusesWhatCannotBe) {
  EXPECT_THROW(ThreadWorld({.nodes = 0}), Failure);
  EXPECT_THROW(ThreadWorld({.members_per_node = -1}), Failure);
  EXPECT_THROW(ThreadWorld({.nodes = 1 << 20, .members_per_node = 1 << 20}), Failure);
  EXPECT_THROW(ThreadWorld({.between_nodes = {.bytes_per_second = -1}}), Failure);
  EXPECT_THROW(ThreadWorld({}).group(1), Failure);
}

TEST(Process, KnowsWhoIsAlive) {
  const ProcessId me = this_process();
  EXPECT_TRUE(alive(me));
  EXPECT_FALSE(alive({.pid = me.pid, .began = me.began + 1}));  // another with the same number
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const ProcessId self = this_process();
    (void)!write(ready[1], &self, sizeof self);
    pause();
    _exit(0);
  }
  ProcessId other;
  ASSERT_EQ(read(ready[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
  EXPECT_EQ(other.pid, child);
  EXPECT_TRUE(alive(other));
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, child, &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(alive(other));  // a zombie
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(alive(other));
}

TEST(Launcher, IsKnownByItsEnvironment) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK"}) {
    unsetenv(name);
  }
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_NTASKS", "2", 1);
  EXPECT_FALSE(launched_by_mpi());  // a plain srun
  setenv("PMIX_RANK", "0", 1);
  EXPECT_TRUE(launched_by_mpi());
  unsetenv("PMIX_RANK");
}

/// The environment of a launcher, for as long as the object lives.
class Environment {
 public:
  explicit Environment(std::vector<std::pair<const char*, const char*>> variables)
      : variables_(std::move(variables)) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_SIZE",
                             "PMI_RANK", "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"}) {
      unsetenv(name);
    }
    for (const auto& [name, value] : variables_) setenv(name, value, 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const auto& [name, value] : variables_) unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, const char*>> variables_;
};

int unconnected(const std::vector<std::pair<const char*, const char*>>& variables) {
  const Environment environment(variables);
  return unconnected_tasks();
}

TEST(Launcher, TasksOfAPlainSrunAreFound) {
  EXPECT_EQ(unconnected({}), 0);
  EXPECT_EQ(unconnected({{"SLURM_STEP_NUM_TASKS", "2"}}), 2);
  EXPECT_EQ(unconnected({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "2"}}), 0);
  EXPECT_EQ(unconnected({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "3"}}), 3);
  EXPECT_EQ(unconnected({{"SLURM_NTASKS", "2"}}), 0) << "a batch script itself";
  EXPECT_EQ(unconnected({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_RANK", "0"}}), 0);
  EXPECT_EQ(unconnected({{"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), 0);
  EXPECT_EQ(unconnected({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_RANK", "0"}}), 0);
}

TEST(Launcher, MpirunIsToldFromSrun) {
  const auto by_mpirun = [](const std::vector<std::pair<const char*, const char*>>& variables) {
    const Environment environment(variables);
    return launched_by_mpirun();
  };
  EXPECT_FALSE(by_mpirun({}));
  EXPECT_TRUE(by_mpirun({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "381288449"}}));
  EXPECT_FALSE(by_mpirun({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "slurm.pmix.4.0"}}));
  EXPECT_FALSE(by_mpirun({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.4.0"}}));
}

}  // namespace
}  // namespace plait::transport
