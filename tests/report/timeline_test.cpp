// The timeline has every event that is kept, in columns, and its check refuses whatever else.
#include "report/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "report/report_testing.hpp"

namespace plait::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

TEST(Timeline, HasEveryEventWithItsLabel) {
  const Json timeline = timeline_json(two_workers(), two_workers_trace(2));
  EXPECT_EQ(timeline["first_step"], 0);
  EXPECT_EQ(timeline["last_step"], 1);
  const Json& one = timeline["workers"][1];
  EXPECT_EQ(one["begin"].size(), 10U);
  EXPECT_EQ(one["begin"][1], 20'000);  // 2 ms in ticks of 0.1 us, from the first event on
  EXPECT_EQ(one["length"][4], 10'000);
  EXPECT_EQ(one["minibatch"][5], 1);
  const Json& labels = timeline["labels"];
  const auto label = [&](std::size_t worker, std::size_t event) {
    return labels[timeline["workers"][worker]["label"][event].get<std::size_t>()];
  };
  EXPECT_EQ(label(0, 0), Json({"forward of conv1", "forward", 0}));
  EXPECT_EQ(label(0, 1)[1], "communication");
  EXPECT_EQ(label(0, 1)[2], 128);
  EXPECT_EQ(label(1, 0)[1], "waiting");
  EXPECT_EQ(label(1, 3), Json({"backward_weights of fc", "backward_weights", 0}));
  EXPECT_NO_THROW(check_timeline(timeline, "x"));
}

TEST(Timeline, DropsTheOldestStepsBeyondItsLimit) {
  const Json timeline = timeline_json(two_workers(), two_workers_trace(10), 9 * 3 + 5);
  EXPECT_EQ(timeline["first_step"], 7);
  EXPECT_EQ(timeline["workers"][0]["begin"].size(), 12U);
  EXPECT_EQ(timeline["workers"][0]["begin"][0], 0);
  EXPECT_TRUE(timeline_json(two_workers(), two_workers_trace(10), 8).is_null());
}

TEST(Timeline, OfNothingIsNull) {
  EXPECT_TRUE(timeline_json(two_workers(), trace::Trace{}).is_null());
}

TEST(Timeline, IsRefusedWhereItCouldNotBeDrawn) {
  const Json good = timeline_json(two_workers(), two_workers_trace(2));
  const auto refusal = [&](const std::function<void(Json&)>& change) {
    Json bad = good;
    change(bad);
    try {
      check_timeline(bad, "run/report.json");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(refusal([](Json&) {}), "nothing");
  EXPECT_THAT(refusal([](Json& t) { t.erase("labels"); }),
              HasSubstr("run/report.json is damaged: no 'labels'"));
  EXPECT_THAT(refusal([](Json& t) { t["workers"][0]["label"][0] = 99; }), HasSubstr("'label'"));
  EXPECT_THAT(refusal([](Json& t) { t["workers"][0]["label"][0] = -1; }), HasSubstr("'label'"));
  EXPECT_THAT(refusal([](Json& t) { t["workers"][0]["length"].erase(0); }),
              HasSubstr("7 entries instead of 8"));
  EXPECT_THAT(refusal([](Json& t) { t["workers"][0]["begin"][0] = 1e300; }), HasSubstr("'begin'"));
  EXPECT_THAT(refusal([](Json& t) { t["workers"][0]["begin"][0] = 90'000; }),
              HasSubstr("order of time"));
  EXPECT_THAT(refusal([](Json& t) { t["labels"][0] = "forward"; }), HasSubstr("'labels'"));
  EXPECT_THAT(refusal([](Json& t) { t["workers"] = 3; }), HasSubstr("no list"));
}

}  // namespace
}  // namespace plait::report
