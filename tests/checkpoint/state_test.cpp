// state.json: round trips, and refusal of any changed byte or unknown field.
#include "checkpoint/state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace plait::checkpoint {
namespace {

using testing::HasSubstr;

StateFile sample() {
  return {.state = {.step = 120,
                    .epoch = 3,
                    .position = 512,
                    .seed = 0xffff'ffff'ffff'ffffu,
                    .metric = 0.1 + 0.2,
                    .best_metric = 1.0,
                    .extra = {{"loss", "0.25"}, {"", "\n\"\xc3\xa9"}},
                    .config = "lr = 0.1\n"},
          .files = {{"weights.safetensors", {.bytes = 12, .xxh3 = "00ff"}}}};
}

void expect_refused(const std::string& text, const std::string& part) {
  try {
    parse_state(text, "run/state.json");
    ADD_FAILURE() << "accepted: " << text.substr(0, 200);
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("run/state.json"));
    EXPECT_THAT(error.what(), HasSubstr(part));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = print_state(sample());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(State, RoundTrip) {
  const StateFile back = parse_state(print_state(sample()), "x");
  EXPECT_EQ(back.state, sample().state);
  EXPECT_EQ(back.files, sample().files);
  const StateFile empty = parse_state(print_state({}), "x");
  EXPECT_EQ(empty.state, RunState{});
  EXPECT_TRUE(empty.files.empty());
}

TEST(State, ANumberThatIsNotFiniteIsNone) {
  StateFile file;
  file.state.metric = std::nan("");
  file.state.best_metric = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_state(print_state(file), "x").state, RunState{});
}

TEST(State, EveryChangedByteIsSeen) {
  const std::string text = print_state(sample());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    try {
      // A space for a tab and the like: the same content.
      EXPECT_EQ(parse_state(bad, "x").state, sample().state) << i;
    } catch (const UserError&) {
    }
    EXPECT_THROW(parse_state(text.substr(0, i), "x"), UserError) << (i == text.size() - 1);
    if (i + 2 >= text.size()) break;
  }
}

TEST(State, RefusesWhatItDidNotWrite) {
  expect_refused("", "not valid JSON");
  expect_refused("[]", "no JSON object");
  expect_refused("{}", "'format' is missing");
  expect_refused(std::string(1'000'000, '['), "nested");
  expect_refused(std::string("{}\0", 3), "zero byte");
  expect_refused("{\"a\":1e999}", "out of range");
  expect_refused(changed("\"version\": 1", "\"version\": 2"), "version 2");
  expect_refused(changed("plait-checkpoint", "other"), "not the state");
  expect_refused(changed("\"step\": 120", "\"step\": 121"), "changed by hand");
  expect_refused(changed("\"step\": 120", "\"step\": -1"), "'step'");
  expect_refused(changed("\"step\": 120", "\"step\": 9223372036854775808"), "'step'");
  expect_refused(changed("\"step\": 120", "\"step\": 120, \"step\": 120"), "'step' occurs twice");
  expect_refused(changed("\"step\": 120", "\"step\": 120, \"stop\": 1"), "'stop'");
  expect_refused(changed("\"step\": 120,", ""), "'step' is missing");
  expect_refused(changed("\"epoch\": 3", "\"epoch\": 3.0"), "'epoch'");
  expect_refused(changed("\"loss\": \"0.25\"", "\"loss\": 0.25"), "'loss'");
  expect_refused(changed("\"best_metric\": 1.0", "\"best_metric\": true"), "'best_metric'");
  expect_refused(changed("\"bytes\": 12", "\"bytes\": \"12\""), "'bytes'");
}

TEST(State, OnlyTextCanBeWritten) {
  StateFile file;
  file.state.config = "\xff";
  EXPECT_THROW(print_state(file), UserError);
}

}  // namespace
}  // namespace plait::checkpoint
