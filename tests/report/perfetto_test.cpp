// The Perfetto file is valid JSON and says of every event what, where and when.
#include "report/perfetto.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "temp_folder.hpp"

namespace plait::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Two nodes with two workers; worker 3 computes, waits and sends.
plan::Plan small_plan() {
  plan::Plan plan;
  plan.machine = {.nodes = 2, .workers_per_node = 2};
  plan.network.blocks = {{.name = "conv1", .srcs = {0}, .dst = 1}};
  plan.programs.resize(4);
  plan.programs[3].tasks = {
      {.what = plan::Load{}},
      {.what = plan::Forward{.block = 0}},
      {.what = plan::Send{{.value = {.role = plan::Role::diff, .index = 5}, .peer = 1}}},
      {.what = plan::Receive{{.value = {.index = 2}, .peer = 0}}},
      {.what = plan::Reduce{.move = plan::Move::sum, .group = 0, .bucket = 2}}};
  return plan;
}

trace::Trace small_trace() {
  trace::Trace trace;
  trace.workers.resize(4);
  trace::WorkerTrace& worker = trace.workers[3];
  worker.add({.task = 0, .begin = 0, .end = 0.25e-6});
  worker.add({.task = 1, .minibatch = 7, .step = 9, .begin = 1.5e-3, .end = 2e-3});
  worker.add({.task = 2,
              .activity = trace::Activity::communicate,
              .begin = 2e-3,
              .end = 2e-3,
              .bytes = 640});
  worker.add({.task = 3, .activity = trace::Activity::wait, .begin = 2e-3, .end = 3e-3});
  worker.add({.task = 4, .activity = trace::Activity::communicate, .begin = 3e-3, .end = 4e-3});
  return trace;
}

json written(const plan::Plan& plan, const trace::Trace& trace,
             const std::vector<PerfettoLabel>& labels = {}) {
  std::ostringstream out;
  write_perfetto(out, plan, trace, labels);
  return json::parse(out.str());
}

TEST(Perfetto, NamesNodesAndWorkers) {
  const json root = written(small_plan(), small_trace());
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const json& event : root.at("traceEvents")) {
    if (event.at("ph") != "M") continue;
    if (event.at("name") == "process_name") processes[event.at("pid")] = event["args"]["name"];
    if (event.at("name") == "thread_name") {
      threads[{event.at("pid"), event.at("tid")}] = event["args"]["name"];
    }
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "node 0"}, {1, "node 1"}}));
  EXPECT_EQ(threads.size(), 4U);
  EXPECT_EQ((threads[{0, 1}]), "worker 1");
  EXPECT_EQ((threads[{1, 3}]), "worker 3");
}

TEST(Perfetto, EveryEventIsASlice) {
  const json root = written(small_plan(), small_trace(), {{"model", "vgg16"}, {"a \"b\"", "c\n"}});
  EXPECT_EQ(root.at("otherData").at("model"), "vgg16");
  EXPECT_EQ(root.at("otherData").at("a \"b\""), "c\n");
  std::vector<json> slices;
  for (const json& event : root.at("traceEvents")) {
    if (event.at("ph") == "X") slices.push_back(event);
  }
  ASSERT_EQ(slices.size(), 5U);
  EXPECT_EQ(slices[0].at("name"), "load");
  EXPECT_EQ(slices[1].at("name"), "forward conv1");
  EXPECT_EQ(slices[1].at("cat"), "compute");
  EXPECT_EQ(slices[1].at("pid"), 1);
  EXPECT_EQ(slices[1].at("tid"), 3);
  EXPECT_DOUBLE_EQ(slices[1].at("ts"), 1500);
  EXPECT_DOUBLE_EQ(slices[1].at("dur"), 500);
  EXPECT_EQ(slices[1].at("args").at("minibatch"), 7);
  EXPECT_EQ(slices[1].at("args").at("step"), 9);
  EXPECT_EQ(slices[2].at("name"), "send of the gradient of tensor 5 to worker 1");
  EXPECT_EQ(slices[2].at("cat"), "communicate");
  EXPECT_EQ(slices[2].at("args").at("bytes"), 640);
  EXPECT_EQ(slices[3].at("name"), "wait: receive of tensor 2 from worker 0");
  EXPECT_EQ(slices[3].at("cat"), "wait");
  EXPECT_EQ(slices[4].at("name"), "reduce_sum bucket 2");
}

TEST(Perfetto, NamesInAnyEncodingComeOutAsJson) {
  plan::Plan plan = small_plan();
  plan.network.blocks[0].name = "a\"\\\x01\xff";
  EXPECT_NO_THROW(written(plan, small_trace()));
}

TEST(Perfetto, LongTracesAreWrittenInPieces) {
  trace::Trace trace = small_trace();
  for (int i = 0; i < 20'000; ++i)
    trace.workers[3].add({.task = 1, .begin = 1e-3 * i, .end = 1e-3 * i});
  EXPECT_GT(written(small_plan(), trace).at("traceEvents").size(), 20'000U);
}

TEST(Perfetto, AnEmptyTraceIsValidToo) { EXPECT_TRUE(written({}, {}).at("traceEvents").empty()); }

TEST(Perfetto, AFileThatCannotBeMadeIsNamed) {
  const TempFolder folder;
  const std::string path = folder.path() / "file";
  write_perfetto(path, small_plan(), small_trace());
  const std::string text = read_text(path);
  EXPECT_FALSE(json::parse(text).at("traceEvents").empty());
  try {
    write_perfetto(path + "/trace.json", small_plan(), small_trace());
    ADD_FAILURE() << "written below a file";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot write '" + path + "/trace.json'"));
  }
}

}  // namespace
}  // namespace plait::report
