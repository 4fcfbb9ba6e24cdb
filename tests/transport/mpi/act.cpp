// What the members do in each play.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/mpi.hpp"
#include "transport/mpi/play.hpp"

namespace plait::transport::play {
namespace {

namespace fs = std::filesystem;

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// Complete or not there at all.
void leave(const fs::path& folder, const std::string& name, const std::string& text) {
  const fs::path draft = folder / (name + ".draft");
  std::ofstream(draft) << text << std::endl;
  fs::rename(draft, folder / name);
}

std::string file_of(int member) { return "member-" + std::to_string(member); }

bool all_left(const fs::path& folder, int members) {
  for (int member = 1; member < members; ++member) {
    if (!fs::exists(folder / file_of(member))) return false;
  }
  return true;
}

/// What a wait that is aborted threw.
std::string aborted(const std::function<void()>& wait) {
  try {
    wait();
  } catch (const Aborted& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Waits in one way or another, depending on the member; the last one aborts. Gives the reasons.
std::string sleep_until_aborted(MpiWorld& world) {
  const int last = world.size() - 1;
  const std::unique_ptr<Group> group = world.group();
  const std::unique_ptr<Group> control = world.control_group();
  const std::unique_ptr<Group> part = group->split(0, 0);
  std::vector<std::byte> bytes(1 << 20);
  std::vector<std::byte> sent(1 << 20);
  std::vector<float> values(100000);
  group->barrier();
  Request never_sent = group->irecv(bytes, last, 1);
  Request never_received = group->isend(sent, last, 2);
  std::string reason;
  if (world.rank() == last) {
    nap(100);
    group->abort("the reason");
    group->abort("another reason");
    reason = aborted([&] { never_sent.wait(); });
  } else if (world.rank() == 0) {
    reason = aborted([&] { never_sent.wait(); });
  } else if (world.rank() == 1) {
    reason = aborted([&] { never_received.wait(); });
  } else {
    reason = aborted([&] { part->all_reduce(values); });
  }
  return reason + ", " + aborted([&] { control->ireceive(10, 0, 0).wait(); });
}

/// Their worlds go without hanging; member 0 sees their files and ends the job with code 7.
void abort_job(const fs::path& folder) {
  std::unique_ptr<MpiWorld> world = make_mpi_world(0);
  const int rank = world->rank();
  const int members = world->size();
  const std::string text = sleep_until_aborted(*world);
  if (rank != 0) {
    world.reset();
    leave(folder, file_of(rank), text);
    pause();
  }
  leave(folder, file_of(0), text);
  for (int i = 0; i < 1000 && !all_left(folder, members); ++i) nap(10);
  world->exit_all(7);
}

/// The last member throws while its world is alive; the others' waits throw.
void throw_past_world(const fs::path& folder) {
  const std::unique_ptr<MpiWorld> world = make_mpi_world(0);
  const std::unique_ptr<Group> group = world->group();
  group->barrier();
  if (world->rank() == world->size() - 1) {
    if (world->size() == 1) leave(folder, file_of(0), "member 0 stopped with an error");
    std::byte byte{};
    const Request never = group->irecv({&byte, 1}, 0, 5);
    nap(50);
    fail("the disk is full");
  }
  std::byte byte{};
  const std::string reason = aborted([&] {
    group->irecv({&byte, 1}, world->size() - 1, 0).wait();
  });
  leave(folder, file_of(world->rank()), reason);
  if (world->rank() == 0) {
    for (int i = 0; i < 500 && !all_left(folder, world->size() - 1); ++i) nap(10);
    world->exit_all(9);
  }
  pause();
}

/// The last member is killed; member 0 sees it dead and reads what it wrote last, before mpirun
/// ends member 0.
void kill_member(const fs::path& folder) {
  const std::unique_ptr<MpiWorld> world = make_mpi_world(100);
  std::signal(SIGTERM, SIG_IGN);  // mpirun's first word; its second is SIGKILL a second later
  const int last = world->size() - 1;
  Board& board = world->board();
  auto* memory = reinterpret_cast<int*>(board.piece(last).data());
  const std::atomic_ref<int> word(*memory);
  world->group()->barrier();
  if (world->rank() == last) {
    word.store(4711);
    raise(SIGKILL);
  }
  while (word.load() != 4711) nap(1);
  while (board.alive(last)) nap(1);
  if (world->rank() == 0) leave(folder, file_of(0), fmt::format("dead, wrote {}", word.load()));
  pause();
}

}  // namespace

std::vector<Play> plays() {
  return {{.name = "abort", .exit_code = 7, .leaves = {"the reason, the reason"}},
          {.name = "throw", .exit_code = -1, .leaves = {"stopped with an error"}},
          {.name = "kill",
           .least_members = 2,
           .exit_code = -1,
           .leaves = {"dead, wrote 4711"},
           .every_member = false}};
}

int act(const std::string& name, const fs::path& folder) {
  const std::map<std::string, void (*)(const fs::path&)> roles{
      {"abort", abort_job}, {"throw", throw_past_world}, {"kill", kill_member}};
  alarm(50);  // nobody stays behind, whatever becomes of mpirun
  try {
    roles.at(name)(folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace plait::transport::play
