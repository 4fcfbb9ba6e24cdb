// The contract of the transport with MPI processes as members: mpirun -n N transport_mpi_tests.
// Every process runs every test; the first one prints, the others only what failed. A member that
// fails ends the job. At the end the first one puts on the plays, jobs that end badly.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/mpi_leaks.hpp"
#include "transport/contract.hpp"
#include "transport/mpi.hpp"
#include "transport/mpi/play.hpp"

namespace plait::transport {
namespace {

/// One per process, made by main().
MpiWorld* the_world = nullptr;
Group* the_group = nullptr;
Group* the_control = nullptr;

void hold(Group& group, const contract::Case& promise) {
  try {
    promise.check(group);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    group.abort(fmt::format("member {}: {}", group.rank(), error.what()));
  }
}

class MpiContract : public ::testing::TestWithParam<contract::Case> {};

TEST_P(MpiContract, Holds) { hold(*the_group, GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, MpiContract, ::testing::ValuesIn(contract::cases()),
                         [](const auto& named) { return named.param.name; });

TEST(MpiWorld, KnowsItself) {
  EXPECT_TRUE(has_mpi());
  EXPECT_TRUE(launched_by_mpi());
  EXPECT_EQ(the_world->rank(), the_group->rank());
  EXPECT_EQ(the_world->size(), the_group->size());
  for (int member = 0; member < the_group->size(); ++member) {
    EXPECT_EQ(the_group->node(member), 0);  // these tests run on one machine
  }
  EXPECT_THROW(make_mpi_world(0), Failure);  // once per process
}

TEST(MpiWorld, HasChannelsForControlThatDoNotMixWithData) {
  for (const contract::Case& promise : contract::group_cases()) hold(*the_control, promise);
  int data = 1;
  int command = 2;
  int seen = 0;
  Request send = the_group->isend(contract::bytes_of(data), contract::next(*the_group), 0);
  Request told = the_control->isend(contract::bytes_of(command), contract::next(*the_group), 0);
  the_control->irecv(contract::bytes_of(seen), contract::previous(*the_group), 0).wait();
  EXPECT_EQ(seen, 2);
  the_group->irecv(contract::bytes_of(seen), contract::previous(*the_group), 0).wait();
  EXPECT_EQ(seen, 1);
}

TEST(MpiWorld, CountsNoControl) {
  std::byte byte{};
  Request send = the_control->isend({&byte, 1}, contract::next(*the_control), 0);
  the_control->irecv({&byte, 1}, contract::previous(*the_control), 0).wait();
  EXPECT_EQ(the_control->traffic().messages, 0);
}

TEST(MpiWorld, HasABoardThatAllMembersRead) {
  Board& board = the_world->board();
  EXPECT_EQ(board.members().size(), static_cast<std::size_t>(the_world->size()));
  const auto word = [&](int member) {
    return std::atomic_ref<int>(*reinterpret_cast<int*>(board.piece(member).data()));
  };
  ASSERT_EQ(board.piece(the_world->rank()).size(), 100U);
  EXPECT_EQ(word(the_world->rank()).load(), 0);
  word(the_world->rank()).store(the_world->rank() + 10);
  the_control->barrier();
  for (const int member : board.members()) {
    EXPECT_TRUE(board.alive(member));
    EXPECT_EQ(word(member).load(), member + 10);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(board.piece(member).data()) % 64, 0U);
  }
  EXPECT_THROW(board.piece(the_world->size()), Failure);
}

/// Prints what fails, and where.
class FailuresOnly : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "[member %d] %s.%s: %s\n", the_world->rank(),
                 test == nullptr ? "" : test->test_suite_name(),
                 test == nullptr ? "" : test->name(), result.message());
  }
};

int run_suite(int members_of[2]) {
  std::unique_ptr<MpiWorld> world = make_mpi_world(100);
  members_of[0] = world->rank();
  members_of[1] = world->size();
  const std::unique_ptr<Group> group = world->group();
  const std::unique_ptr<Group> control = world->control_group();
  the_world = world.get();
  the_group = group.get();
  the_control = control.get();
  if (world->rank() != 0) {
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int code = RUN_ALL_TESTS();
  if (code != 0) world->exit_all(code);
  return code;
}

bool run_plays(int members) {
  bool good = true;
  for (const play::Play& play : play::plays()) {
    if (members < play.least_members) continue;
    const Stopwatch watch;
    const std::string wrong = play::stage(play, members);
    std::printf("[   PLAY   ] %s: %s (%d ms)\n", play.name.c_str(),
                wrong.empty() ? "as it should" : wrong.c_str(),
                static_cast<int>(watch.seconds() * 1000));
    good = good && wrong.empty();
  }
  return good;
}

}  // namespace
}  // namespace plait::transport

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--play") == 0)
    return plait::transport::play::act(argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  int rank_and_size[2] = {0, 0};
  const int code = plait::transport::run_suite(rank_and_size);
  if (code != 0 || rank_and_size[0] != 0) return code;
  return plait::transport::run_plays(rank_and_size[1]) ? 0 : 1;
}
