// Event files read back by an independent parser.
#include "session/tensorboard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/event_file.hpp"
#include "temp_folder.hpp"

namespace plait::run {
namespace {

using event_file::Event;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(Tensorboard, HasTheCrcOfTheStandards) {
  EXPECT_EQ(session::crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(session::crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(session::crc32c(std::string(32, '\xff')), 0x62A8AB43U);
}

TEST(Tensorboard, ReadsBackAsWritten) {
  const TempFolder folder;
  session::Tensorboard board(folder.path() / "tensorboard", 0);
  board.write({{"loss/train", 0.25}, {"learning_rate", 0.1}}, 300);
  board.write({{"loss/train", -1e-30}}, std::int64_t{1} << 40);
  const std::vector<Event> events = event_file::read(read_text(board.path()));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[1].step, 300);
  EXPECT_GT(events[1].wall_time, 1.6e9);
  EXPECT_THAT(events[1].scalars,
              UnorderedElementsAre(Pair("loss/train", 0.25F), Pair("learning_rate", 0.1F)));
  EXPECT_EQ(events[2].step, std::int64_t{1} << 40);
  EXPECT_THAT(events[2].scalars, UnorderedElementsAre(Pair("loss/train", -1e-30F)));
}

TEST(Tensorboard, ALaterFileComesLaterByNameAndForgetsWhatIsComputedAgain) {
  const TempFolder folder;
  session::Tensorboard first(folder.path(), 0);
  const session::Tensorboard second(folder.path(), 64);
  const session::Tensorboard third(folder.path(), 0);
  EXPECT_LT(first.path(), second.path());
  EXPECT_LT(second.path(), third.path());
  const std::vector<Event> events = event_file::read(read_text(second.path()));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].session_status, 1U);
  EXPECT_EQ(events[1].step, 65);
  EXPECT_EQ(event_file::read(read_text(third.path())).at(1).step, 1);
  EXPECT_EQ(event_file::read(read_text(first.path())).size(), 1U);
}

}  // namespace
}  // namespace plait::run
