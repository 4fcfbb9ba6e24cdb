// The page is whole, its data cannot break out of it, and only sound files get in.
#include "report/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "report/record.hpp"
#include "report/record_check.hpp"
#include "report/report_testing.hpp"
#include "temp_folder.hpp"

namespace plait::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

Json good_record() {
  const plan::Plan plan = two_workers();
  const trace::Trace trace = two_workers_trace(16);
  const Prediction prediction{
      .source = "analytic", .step_seconds = 0.01, .utilisation = 0.5, .trace = trace};
  RecordParts parts{.plan = plan, .prediction = prediction};
  parts.trace = &trace;
  parts.machine = {.processor = "a CPU", .cores = 2};
  parts.tasks = {"F conv1", "F fc; D fc; G fc"};
  return record_json(parts);
}

TEST(Page, TakesItsFilesAndDataIn) {
  const std::string page = page_html(script_json({{"runs", Json::array()}}));
  EXPECT_THAT(page, HasSubstr("const given = {\"runs\":[]};"));
  EXPECT_THAT(page, HasSubstr("const isLive = false;"));
  EXPECT_THAT(page, HasSubstr("class TimelinePanel"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, Not(HasSubstr("http://1")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page_html("{}", true), HasSubstr("const isLive = true;"));
}

TEST(Page, KeepsItsDataInsideTheScript) {
  const std::string nasty = "</script><script>alert(1)</script><!--\u2028";
  const std::string json = script_json({{"name", nasty}});
  EXPECT_THAT(json, Not(HasSubstr("<")));
  EXPECT_EQ(Json::parse(json)["name"], nasty);
  EXPECT_THAT(script_json({{"name", "\xff"}}), HasSubstr("\uFFFD"));
}

TEST(Page, DataWithItsOwnMarksStaysData) {
  const std::string page = page_html(script_json({{"name", "\"/*live*/\" /*script*/ /*style*/"}}));
  EXPECT_THAT(page, HasSubstr("/*script*/ /*style*/"));
}

TEST(Record, SaysWhatThePlanAndTheTraceSay) {
  const Json record = good_record();
  EXPECT_NO_THROW(check_record(record, "x"));
  EXPECT_EQ(record["plan"]["blocks"][0]["name"], "conv1");
  EXPECT_EQ(record["plan"]["blocks"][0]["staleness"], 1);
  EXPECT_EQ(record["measured"]["straggler"]["worker"], 1);
  EXPECT_EQ(record["measured"]["breakdown"]["bytes"][0][1], 192);
  EXPECT_EQ(record["predicted"]["source"], "analytic");
  EXPECT_TRUE(record["result"].is_null());
}

TEST(Record, CountsTheWordsOfLayersCutByRows) {
  plan::Plan plan = two_workers();
  plan.row_lists = {{0, 2, 5}};
  plan.network.blocks.push_back(
      {.name = "fc@1<0", .srcs = {9}, .dst = 2, .whole = 1, .whole_name = "fc"});
  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    plan.programs[1].tasks.push_back(
        {.what = plan::Receive{{.value = {.index = 9}, .peer = 0, .list = 0}}});
    plan.programs[1].tasks.push_back(
        {.what =
             plan::Send{{.value = {.role = plan::Role::diff, .index = 9}, .peer = 0, .list = 0}}});
  }
  const Prediction none;
  const RecordParts parts{.plan = plan, .prediction = none};
  const Json record = record_json(parts);
  EXPECT_EQ(record["plan"]["volumes"],
            Json::parse(R"([{"name":"fc","forward_words":3,"backward_words":3}])"));
}

TEST(Record, IsRefusedWhereItCouldNotBeDrawn) {
  const Json good = good_record();
  const auto refused = [&](const std::string& pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    try {
      check_record(bad, "run/report.json");
      ADD_FAILURE() << pointer << " = " << value << " was taken";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("run/report.json")) << pointer;
      EXPECT_THAT(error.what(), HasSubstr("delete it")) << pointer;
    }
  };
  refused("/format", 2);
  refused("/result", 3);
  refused("/result", {{"model", "x"}});
  refused("/machine/processor", 3);
  refused("/plan/workers", -1);
  refused("/plan/workers", 3);
  refused("/plan/blocks/0/staleness", "much");
  refused("/plan/tasks/0", 1);
  refused("/predicted/timeline", "none");
  refused("/measured/breakdown/bytes/0", {1});
  refused("/measured/breakdown/workers/0/span", nullptr);
  refused("/measured/straggler", true);
  EXPECT_THROW(check_record(Json::array(), "x"), UserError);
}

class RunFolderFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  std::string refusal() const {
    try {
      read_run_files(folder_.path());
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing";
  }
  TempFolder folder_;
};

TEST_F(RunFolderFiles, NeedOnlyAConfig) {
  EXPECT_THAT(refusal(), HasSubstr("is not a run folder"));
  write("config.toml", "model = \"lenet\"\n");
  const RunFiles files = read_run_files(folder_.path());
  EXPECT_TRUE(files.record.is_null());
  EXPECT_EQ(files.epochs, Json::array());
}

TEST_F(RunFolderFiles, AreReadLineByLine) {
  write("config.toml", "model = \"lenet\"\n");
  write("metrics.jsonl",
        "{\"step\":5,\"epoch\":1,\"train_loss\":0.5,\"test_loss\":null}\n"
        "{\"step\":9,\"epoch\":2,\"new\":[1],\"train_loss\":0.25,\"mode\":\"cycling\","
        "\"residuals\":{\"u1\":0."
        "1}}\n"
        "{\"step\":12,\"epo");
  const RunFiles files = read_run_files(folder_.path());
  ASSERT_EQ(files.epochs.size(), 2U);
  EXPECT_EQ(files.epochs[1]["mode"], "cycling");
  EXPECT_EQ(files.epochs[1]["residuals"]["u1"], 0.1);
  EXPECT_FALSE(files.epochs[1].contains("new"));
}

TEST_F(RunFolderFiles, ThatAreDamagedAreNamedWithTheirLine) {
  write("config.toml", "model = \"lenet\"\n");
  const std::string good = "{\"epoch\":1,\"train_loss\":0.5}\n";
  const auto metrics_refusal = [&](const std::string& line) {
    write("metrics.jsonl", good + line + "\n" + good);
    return refusal();
  };
  EXPECT_THAT(metrics_refusal("rubbish"), HasSubstr("metrics.jsonl:2: not a JSON object"));
  EXPECT_THAT(metrics_refusal("[]"), HasSubstr("metrics.jsonl:2"));
  EXPECT_THAT(metrics_refusal("{\"epoch\":1}"), HasSubstr("'train_loss'"));
  EXPECT_THAT(metrics_refusal("{\"epoch\":1,\"train_loss\":1,\"test_loss\":\"low\"}"),
              HasSubstr("'test_loss' is not a number"));
  EXPECT_THAT(metrics_refusal("{\"epoch\":1,\"train_loss\":1,\"residuals\":[1]}"),
              HasSubstr("residuals"));
  EXPECT_THAT(metrics_refusal("{\"epoch\":1,\"train_loss\":1,\"mode\":[1]}"), HasSubstr("'mode'"));
  write("metrics.jsonl", good);
  write("report.json", "{");
  EXPECT_THAT(refusal(), HasSubstr("report.json is damaged: not valid JSON"));
  write("report.json", "{}");
  EXPECT_THAT(refusal(), HasSubstr("no 'format'"));
  write("report.json", good_record().dump());
  EXPECT_EQ(refusal(), "nothing");
}

}  // namespace
}  // namespace plait::report
