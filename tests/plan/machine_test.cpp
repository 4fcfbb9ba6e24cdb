// Links as text and back, and refusal of impossible machines.
#include "plan/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"

namespace plait::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string message_of(const std::string& text) {
  try {
    parse_link(text, "--link-between-nodes");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Link, IsReadFromText) {
  const std::pair<std::string, Link> cases[] = {{"1Gbit/s,100us", {1.25e8, 100e-6}},
                                                {"12.5GB/s,2us", {12.5e9, 2e-6}},
                                                {"10Gbit/s", {1.25e9, 0}},
                                                {"8bit/s", {1, 0}},
                                                {"1kbit/s,1s", {125, 1}},
                                                {"100Mbit/s,0.5ms", {1.25e7, 0.5e-3}},
                                                {"1Tbit/s,5ns", {1.25e11, 5e-9}},
                                                {"3B/s", {3, 0}},
                                                {"1e3kB/s", {1e6, 0}},
                                                {"2MB/s,0s", {2e6, 0}},
                                                {"0.5TB/s", {5e11, 0}}};
  for (const auto& [text, link] : cases) {
    const Link parsed = parse_link(text, "--link");
    EXPECT_DOUBLE_EQ(parsed.bytes_per_second, link.bytes_per_second) << text;
    EXPECT_DOUBLE_EQ(parsed.latency_seconds, link.latency_seconds) << text;
  }
}

TEST(Link, ThatIsNoneIsRefusedWithAnExample) {
  for (const char* text : {"",
                           ",",
                           "1",
                           "Gbit/s",
                           "1G",
                           "1Gbit",
                           "1gbit/s",
                           "1Gb/s",
                           "1 Gbit/s",
                           " 1Gbit/s",
                           "1Gbit/s ",
                           "1Gbit/s,",
                           "1Gbit/s,100",
                           "1Gbit/s, 100us",
                           "1Gbit/s,100us,",
                           "1Gbit/s,-1us",
                           "1Gbit/s,100us junk",
                           "-1Gbit/s",
                           "+1Gbit/s",
                           "infGB/s",
                           "nanGB/s",
                           "0x10B/s",
                           "1e999GB/s",
                           "1.2.3GB/s",
                           "1Gbit/s,infs",
                           "1Gbit/s;100us",
                           ".5GB/s"}) {
    EXPECT_THAT(message_of(text), StartsWith("--link-between-nodes: '")) << text;
    EXPECT_THAT(message_of(text), HasSubstr("for example 1Gbit/s,100us")) << text;
  }
}

TEST(Link, ThatCannotBeIsRefusedWithItsNumber) {
  EXPECT_THAT(message_of("0Gbit/s"), HasSubstr("is 0 bytes/s"));
  EXPECT_THAT(message_of("0.0B/s,1us"), HasSubstr("is 0 bytes/s"));
  EXPECT_THAT(message_of("1e200TB/s"), HasSubstr("at most 1000TB/s"));
  EXPECT_THAT(message_of("1GB/s,2000s"), HasSubstr("latency of 2000 s"));
}

TEST(Link, AHugeTextIsNotRepeatedInFull) {
  EXPECT_LT(message_of(std::string(100000, 'x')).size(), 400);
}

TEST(Link, PrintsAsAShortTextThatReadsBackTheSame) {
  for (const char* text : {"1Gbit/s,100us", "100Gbit/s,2us", "10Gbit/s", "100Mbit/s,1ms", "3B/s",
                           "2TB/s,3ns", "1Gbit/s,1s"}) {
    EXPECT_EQ(to_text(parse_link(text, "")), text);
  }
  EXPECT_EQ(to_text({}), "no time");
}

TEST(Link, OddNumbersReadBackToo) {
  for (double rate = 1.0 / 3; rate < 1e15; rate *= 1.0537) {
    const Link link{rate, rate * 1e-14};
    EXPECT_EQ(parse_link(to_text(link), ""), link) << to_text(link);
  }
}

TEST(Machine, ThatMakesNoSenseIsRefused) {
  EXPECT_NO_THROW(check_machine({.nodes = 1024, .workers_per_node = 1024}));
  EXPECT_NO_THROW(check_machine({.inside = {1e9, 0}}));
  EXPECT_THROW(check_machine({.nodes = 0}), UserError);
  EXPECT_THROW(check_machine({.workers_per_node = 0}), UserError);
  EXPECT_THROW(check_machine({.nodes = -2, .workers_per_node = -2}), UserError);
  EXPECT_THROW(check_machine({.nodes = 1024, .workers_per_node = 1025}), UserError);
  EXPECT_THROW(check_machine({.nodes = 65536, .workers_per_node = 65536}), UserError);
  EXPECT_THROW(check_machine({.inside = {-1, 0}}), UserError);
  EXPECT_THROW(check_machine({.between = {1, -1}}), UserError);
  EXPECT_THROW(check_machine({.between = {std::numeric_limits<double>::quiet_NaN(), 0}}),
               UserError);
  EXPECT_THROW(check_machine({.memory_per_worker = -1}), UserError);
}

TEST(Machine, LinksInsideAndBetweenNodes) {
  const Machine machine{
      .nodes = 2, .workers_per_node = 2, .inside = {1e9, 1e-6}, .between = {1e8, 1e-4}};
  EXPECT_EQ(machine.link(0, 1), machine.inside);
  EXPECT_EQ(machine.link(1, 2), machine.between);
}

}  // namespace
}  // namespace plait::plan
