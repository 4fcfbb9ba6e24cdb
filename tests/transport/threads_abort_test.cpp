// The end before its time: whom an abort wakes, what run_members rethrows, and that no memory is
// touched after its owner has gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "transport/contract_tools.hpp"
#include "transport/threads.hpp"

namespace plait::transport {
namespace {

using contract::thrown;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST(ThreadAbort, WakesEverybodyInEveryGroup) {
  ThreadWorld world({.nodes = 2, .members_per_node = 4});
  std::atomic<int> woken = 0;
  const auto sleep = [&](const std::function<void()>& wait) {  // for ever, but for the abort
    EXPECT_EQ(thrown<Aborted>(wait), "the reason");
    ++woken;
  };
  run_members(world, [&](int rank) {
    const std::unique_ptr<Group> group = world.group(rank);
    const std::unique_ptr<Group> control = world.control_group(rank);
    const std::unique_ptr<Group> part = group->split(rank % 2, 0);
    const std::unique_ptr<Group> part_of_part = part->split(0, 0);
    std::vector<std::byte> bytes(100000);
    std::vector<float> values(1000);
    switch (rank) {
      case 0: sleep([&] { group->irecv(bytes, 7, 0).wait(); }); break;
      case 1: sleep([&] { group->ireceive(10, 7, 0).wait(); }); break;
      case 2: sleep([&] { group->isend(bytes, 7, 1).wait(); }); break;
      case 3: sleep([&] { control->irecv(bytes, 7, 0).wait(); }); break;
      case 4: sleep([&] { part->barrier(); }); break;
      case 5: sleep([&] { part_of_part->irecv(bytes, 0, 0).wait(); }); break;
      case 6: sleep([&] { group->all_reduce(values); }); break;
      default:
        nap(50);
        group->abort("the reason");
        group->abort("another reason");
        sleep([&] { (void)group->irecv(bytes, 0, 0); });
    }
  });
  EXPECT_EQ(woken, 8);
}

TEST(ThreadAbort, AReaderMayFinishBeforeTheSendersMemoryGoes) {
  ThreadWorld world({.members_per_node = 2});
  std::atomic<bool> reading = false;
  std::atomic<bool> read = false;
  run_members(world, [&](int rank) {
    const std::unique_ptr<Group> group = world.group(rank);
    if (rank == 0) {
      {
        const auto bytes = std::make_unique<std::vector<std::byte>>(1000, std::byte{5});
        Request send = group->isend(*bytes, 1, 0);
        while (!reading) nap(1);
        EXPECT_EQ(thrown<Aborted>([&] { send.wait(); }), "now");
        EXPECT_FALSE(read);
      }
      EXPECT_TRUE(read);
    } else {
      Incoming incoming = group->ireceive(1000, 0, 0);
      const std::span<const std::byte> bytes = incoming.wait();
      group->abort("now");
      reading = true;
      nap(50);
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{5}), 1000);
      read = true;
    }
  });
}

/// Abort while bytes move, again and again: for the sanitizers.
TEST(ThreadAbort, MayComeAtAnyMoment) {
  for (int round = 0; round < 60; ++round) {
    ThreadWorld world({.members_per_node = 3});
    const auto work = [&](int rank) {
      const std::unique_ptr<Group> group = world.group(rank);
      if (rank == 2) {
        std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
        group->abort("stop");
        return;
      }
      while (true) {
        std::vector<float> values(20000, 1);
        std::vector<float> received(20000);
        const auto bytes = std::as_bytes(std::span(values));
        Request send = group->isend(bytes, 1 - rank, 0);
        Request second = group->isend(bytes, 1 - rank, 1);
        Incoming incoming = group->ireceive(bytes.size(), 1 - rank, 1);
        group->irecv(std::as_writable_bytes(std::span(received)), 1 - rank, 0).wait();
        incoming.wait();
      }
    };
    EXPECT_EQ(thrown<Aborted>([&] { run_members(world, work); }), "stop");
  }
}

TEST(RunMembers, RethrowsTheFirstThatIsNotAborted) {
  ThreadWorld world({.members_per_node = 3});
  const auto body = [&](int rank) {
    const std::unique_ptr<Group> group = world.group(rank);
    if (rank == 1) {
      nap(20);
      fail("the disk is full");
    }
    const std::string reason = thrown<Aborted>([&] { group->barrier(); });
    EXPECT_THAT(reason, StartsWith("member 1: the disk is full"));
    if (rank == 2) user_error("a consequence");
    throw Aborted(reason);
  };
  EXPECT_EQ(thrown<Failure>([&] { run_members(world, body); }), "the disk is full");
}

TEST(RunMembers, RethrowsAbortedIfThereIsNothingElse) {
  ThreadWorld world({.members_per_node = 2});
  const auto body = [&](int rank) {
    if (rank == 1) world.abort("by hand");
    world.group(rank)->barrier();
  };
  EXPECT_EQ(thrown<Aborted>([&] { run_members(world, body); }), "by hand");
}

TEST(RunMembers, RunsEveryMemberOnAThreadOfItsOwn) {
  ThreadWorld world({.nodes = 3, .members_per_node = 2});
  EXPECT_EQ(world.size(), 6);
  std::vector<std::thread::id> ids(6);
  run_members(world, [&](int rank) {
    ids[rank] = std::this_thread::get_id();
    const std::unique_ptr<Group> group = world.group(rank);
    EXPECT_EQ(group->rank(), rank);
    EXPECT_EQ(group->node(rank), rank / 2);
    group->barrier();
  });
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

/// Its request would wait for ever, and the others for it.
TEST(Unwinding, PastARequestEndsTheJob) {
  ThreadWorld world({.members_per_node = 2});
  const auto body = [&](int rank) {
    const std::unique_ptr<Group> group = world.group(rank);
    std::byte byte{};
    const Request never = group->irecv({&byte, 1}, 1 - rank, 0);
    if (rank == 0) fail("out of luck");
    EXPECT_THAT(thrown<Aborted>([&] { group->barrier(); }), HasSubstr("member 0: stopped with"));
    throw Aborted("");
  };
  EXPECT_EQ(thrown<Failure>([&] { run_members(world, body); }), "out of luck");
}

TEST(Unwinding, PastAFinishedRequestDoesNot) {
  ThreadWorld world({});
  const std::unique_ptr<Group> group = world.group(0);
  std::byte byte{};
  EXPECT_THROW(
      {
        const Request send = group->isend({&byte, 1}, 0, 0);
        const Request receive = group->irecv({&byte, 1}, 0, 0);
        fail("a small thing");
      },
      Failure);
  group->barrier();
}

/// Nobody waited for it, so nobody would hear of it.
TEST(Unwinding, AFailureInADestructorEndsTheJob) {
  ThreadWorld world({});
  const std::unique_ptr<Group> group = world.group(0);
  std::vector<std::byte> bytes(3);
  const Request send = group->isend(bytes, 0, 0);
  { const Request receive = group->irecv(std::span(bytes).first(2), 0, 0); }
  EXPECT_THAT(thrown<Aborted>([&] { (void)group->irecv(bytes, 0, 1); }), HasSubstr("3 bytes"));
}

}  // namespace
}  // namespace plait::transport
