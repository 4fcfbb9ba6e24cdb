// A schedule picture shows every worker and all its time, in rectangles as few as can be told
// apart.
#include "report/schedule_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "base/error.hpp"
#include "temp_folder.hpp"

namespace plait::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

/// What is between <title> and </title>, in the order of the file.
std::vector<std::string> tooltips(const std::string& picture) {
  const std::regex title("<title>([^<]*)</title>");
  std::vector<std::string> found;
  for (std::sregex_iterator at(picture.begin(), picture.end(), title), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

/// The numbers written into bars.
std::vector<std::string> numbers(const std::string& picture) {
  const std::regex number("class=\"number [^>]*>([^<]*)<");
  std::vector<std::string> found;
  for (std::sregex_iterator at(picture.begin(), picture.end(), number), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

/// Widths of the rectangles in the bars of one class.
std::vector<double> widths(const std::string& picture, const std::string& css_class) {
  const std::regex rect("<rect class=\"" + css_class + "(?: odd)?\" x=\"[^\"]*\" y=\"[^\"]*\" " +
                        "width=\"([^\"]*)\" height=\"[^\"]*\"/>");
  std::vector<double> found;
  for (std::sregex_iterator at(picture.begin(), picture.end(), rect), end; at != end; ++at) {
    found.push_back(std::stod((*at)[1]));
  }
  return found;
}

/// Position of a task in the program below.
enum At { kLoad, kForward0, kForward1, kForward2, kLoss, kData2, kWeights2, kReceive, kUpdate };

plan::Plan plan_of(int workers) {
  plan::Plan plan{.strategy = "by hand",
                  .machine = {.nodes = (workers + 1) / 2, .workers_per_node = 2},
                  .network = {.name = "tiny",
                              .blocks = {{.name = "conv1"}, {.name = "conv2"}, {.name = "fc"}},
                              .tensors = {4, 4, 4, 4}}};
  plan.batch = 8;
  plan.programs.resize(static_cast<std::size_t>(workers));
  for (plan::Program& program : plan.programs) {
    program.tasks = {{.what = plan::Load{}},
                     {.what = plan::Forward{.block = 0}},
                     {.what = plan::Forward{.block = 1}},
                     {.what = plan::Forward{.block = 2}},
                     {.what = plan::Loss{}},
                     {.what = plan::BackwardData{.block = 2}},
                     {.what = plan::BackwardWeights{.block = 2}},
                     {.what = plan::Receive{{.value = {.index = 1}, .peer = 0}}},
                     {.what = plan::Update{.block = 2}}};
  }
  return plan;
}

trace::Trace trace_of(int workers) {
  trace::Trace trace;
  trace.workers.resize(static_cast<std::size_t>(workers));
  return trace;
}

trace::Event compute(int task, double begin, double end, std::int64_t minibatch = 0) {
  return {.task = task, .minibatch = minibatch, .begin = begin, .end = end};
}

TEST(SchedulePicture, HasALanePerWorkerAndSaysWhatItIs) {
  trace::Trace trace = trace_of(3);
  trace.workers[0].add(compute(kForward0, 0, 0.3));
  trace.workers[1].add(compute(kForward0, 0, 1));
  trace.workers[2].add(compute(kUpdate, 0, 0.2));
  const std::string picture = schedule_picture(plan_of(3), trace);
  EXPECT_EQ(count(picture, "class=\"lane\""), 3U);
  EXPECT_THAT(picture, HasSubstr("worker 1 <tspan class=\"small\">(node 0)"));
  EXPECT_THAT(picture, HasSubstr("worker 2 <tspan class=\"small\">(node 1)"));
  for (const char* share : {">30 %<", ">100 %<", ">20 %<"}) EXPECT_THAT(picture, HasSubstr(share));
  EXPECT_THAT(picture, HasSubstr("by hand · tiny"));
  EXPECT_THAT(picture, HasSubstr("3 workers on 2 nodes · 200 ms per step · "
                                 "workers compute 50 % of the time shown"));
  EXPECT_EQ(picture, schedule_picture(plan_of(3), trace));
}

TEST(SchedulePicture, TheLegendHasWhatIsSeen) {
  trace::Trace trace = trace_of(1);
  trace.workers[0].add(compute(kForward0, 0, 1));
  trace.workers[0].add(compute(kWeights2, 2, 3));
  const std::string picture = schedule_picture(plan_of(1), trace);
  EXPECT_THAT(picture, HasSubstr(">forward</text>"));
  EXPECT_THAT(picture, HasSubstr(">backward_weights</text>"));
  EXPECT_THAT(picture, Not(HasSubstr(">backward_data</text>")));
  EXPECT_THAT(picture, Not(HasSubstr(">wait</text>")));
}

TEST(SchedulePicture, NeighboursOfOneKindAreOneRectangle) {
  trace::Trace trace = trace_of(1);
  trace::WorkerTrace& worker = trace.workers[0];
  worker.add(compute(kForward0, 0, 1, 4));
  worker.add(compute(kForward1, 1, 2, 4));
  worker.add({.task = kReceive, .activity = trace::Activity::communicate, .begin = 2, .end = 2});
  worker.add(compute(kForward2, 2, 3, 4));
  worker.add(compute(kForward0, 3, 4, 5));  // another minibatch
  worker.add(compute(kForward1, 5, 6, 5));  // after a gap
  const std::string picture = schedule_picture(plan_of(1), trace);
  EXPECT_THAT(tooltips(picture),
              ElementsAre("forward of conv1 .. fc&#10;minibatch 4&#10;0 s .. 3 s: 3 s",
                          "forward of conv1&#10;minibatch 5&#10;3 s .. 4 s: 1 s",
                          "forward of conv2&#10;minibatch 5&#10;5 s .. 6 s: 1 s"));
  EXPECT_THAT(numbers(picture), ElementsAre("4", "5", "5"));
  EXPECT_EQ(count(picture, "<rect class=\"forward odd\""), 2U);
}

TEST(SchedulePicture, MicrobatchesAreNumberedAndApart) {
  plan::Plan plan = plan_of(1);
  plan.microbatches = 4;
  plan::set_samples(plan.programs[0].tasks[kForward1], plan::part_of(2, 4));
  plan::set_samples(plan.programs[0].tasks[kForward2], plan::part_of(3, 4));
  trace::Trace trace = trace_of(1);
  trace.workers[0].add(compute(kForward1, 0, 1e-3, 7));
  trace.workers[0].add(compute(kForward2, 1e-3, 2.5e-3, 7));
  trace.workers[0].add(compute(kUpdate, 2.5e-3, 4e-3, 7));
  const std::string picture = schedule_picture(plan, trace);
  EXPECT_THAT(numbers(picture), ElementsAre("2", "3", "7"));
  EXPECT_EQ(tooltips(picture).at(1),
            "forward of fc&#10;samples 3/4 .. 4/4, minibatch 7&#10;1 ms .. 2.5 ms: 1.5 ms");
}

TEST(SchedulePicture, WaitsAreHatchedAndSayWhatFor) {
  trace::Trace trace = trace_of(1);
  trace::WorkerTrace& worker = trace.workers[0];
  worker.add({.task = kReceive,
              .activity = trace::Activity::wait,
              .minibatch = 1,
              .begin = 0,
              .end = 0.5});
  worker.add({.task = kReceive, .activity = trace::Activity::communicate, .begin = 0.5, .end = 1});
  const std::string picture = schedule_picture(plan_of(1), trace);
  EXPECT_EQ(widths(picture, "wait").size(), 1U);
  EXPECT_EQ(widths(picture, "comm").size(), 1U);
  EXPECT_THAT(picture, HasSubstr(".wait.odd{fill:url(#schedule-wait)}"));
  EXPECT_THAT(picture, HasSubstr("<pattern id=\"schedule-wait\""));
  EXPECT_THAT(tooltips(picture).at(0), HasSubstr("wait: receive of tensor 1 from worker 0&#10;"));
  EXPECT_THAT(numbers(picture), ElementsAre("0"));  // none in the wait
}

TEST(SchedulePicture, ABackwardTooFineToReadIsAStack) {
  trace::Trace trace = trace_of(1);
  trace.workers[0].add(compute(kForward0, 0, 100));
  for (int i = 0; i < 200; ++i) {
    const double begin = 100 + 0.4 * i;
    trace.workers[0].add(compute(kData2, begin, begin + 0.1));
    trace.workers[0].add(compute(kWeights2, begin + 0.1, begin + 0.4));
  }
  const std::string picture = schedule_picture(plan_of(1), trace);
  EXPECT_EQ(tooltips(picture).size(), 2U);
  EXPECT_THAT(tooltips(picture).at(1), HasSubstr("backward_data of fc (20 s)&#10;"
                                                 "backward_weights of fc (60 s)&#10;minibatch 0"));
  EXPECT_THAT(picture, HasSubstr("height=\"6.5\"/>"));   // a quarter of the lane
  EXPECT_THAT(picture, HasSubstr("height=\"19.5\"/>"));  // the rest of it
  EXPECT_THAT(numbers(picture), ElementsAre("0", "0"));
}

TEST(SchedulePicture, WhatIsTooNarrowGoesToItsNeighbour) {
  trace::Trace trace = trace_of(1);
  trace.workers[0].add(compute(kForward0, 0, 500));
  trace.workers[0].add(
      {.task = kReceive, .activity = trace::Activity::wait, .begin = 500, .end = 500.1});
  trace.workers[0].add(compute(kData2, 500.1, 900));
  trace.workers[0].add(compute(kUpdate, 950, 950.001));  // has none
  trace.workers[0].add(compute(kData2, 990, 1000));
  const std::string picture = schedule_picture(plan_of(1), trace);
  EXPECT_THAT(widths(picture, "wait"), ElementsAre());
  EXPECT_THAT(widths(picture, "update"), ElementsAre(0.5));
  EXPECT_THAT(tooltips(picture).at(0), HasSubstr("wait: receive of tensor 1"));
  EXPECT_EQ(tooltips(picture).size(), 4U);
}

TEST(SchedulePicture, ManyEventsMakeNoLargeFile) {
  trace::Trace trace = trace_of(64);
  for (trace::WorkerTrace& worker : trace.workers) {
    for (int i = 0; i < 4000; ++i) worker.add(compute(1 + i % 8, i, i + 0.7, i));
  }
  const std::string picture = schedule_picture(plan_of(64), trace);
  EXPECT_LE(tooltips(picture).size(), 20'000U);
  EXPECT_GT(tooltips(picture).size(), 5'000U);
  EXPECT_LT(picture.size(), std::size_t{12} << 20);
}

TEST(SchedulePicture, AWindowShowsItsTimeOnly) {
  trace::Trace trace = trace_of(1);
  trace.workers[0].add(compute(kForward0, 0, 1));
  trace.workers[0].add(compute(kData2, 1, 3));
  trace.workers[0].add(compute(kUpdate, 3, 9));
  const std::string picture =
      schedule_picture(plan_of(1), trace, {.width = 1000, .begin = 2, .end = 2.5});
  EXPECT_EQ(tooltips(picture).size(), 1U);
  EXPECT_THAT(tooltips(picture).at(0), HasSubstr("2 s .. 2.5 s: 500 ms"));
  EXPECT_THAT(picture, HasSubstr(">2.0 s</text>"));
  EXPECT_THAT(picture, HasSubstr(">2.5 s</text>"));
  EXPECT_THAT(picture, Not(HasSubstr(">3.0 s</text>")));
  EXPECT_THAT(picture, HasSubstr(">100 %<"));
  EXPECT_THAT(picture, HasSubstr("width=\"1000\""));
  EXPECT_THAT(schedule_picture(plan_of(1), trace, {.begin = 20, .end = 30}),
              HasSubstr("nothing happens here"));
  for (const PictureOptions& wrong :
       {PictureOptions{.begin = 9}, PictureOptions{.begin = 3, .end = 2},
        PictureOptions{.begin = std::nan("")},
        PictureOptions{.end = std::numeric_limits<double>::infinity()}}) {
    EXPECT_THROW(schedule_picture(plan_of(1), trace, wrong), UserError);
  }
}

TEST(SchedulePicture, SaysHowManyWorkersItLeftOut) {
  const std::string picture = schedule_picture(plan_of(100), trace_of(100));
  EXPECT_EQ(count(picture, "class=\"lane\""), 64U);
  EXPECT_THAT(picture, HasSubstr("and 36 more workers not shown"));
  const std::string fewer = schedule_picture(plan_of(4), trace_of(4), {.max_workers = 3});
  EXPECT_EQ(count(fewer, "class=\"lane\""), 3U);
  EXPECT_THAT(fewer, HasSubstr("and 1 more worker not shown"));
  EXPECT_THAT(schedule_picture(plan_of(4), trace_of(4)), Not(HasSubstr("not shown")));
}

TEST(SchedulePicture, NamesAreEscaped) {
  plan::Plan plan = plan_of(1);
  plan.strategy = "a<b>&\"c\"";
  plan.network.name = "\x01\xff\xEF\xBF\xBE";
  plan.network.blocks[0].name = "<conv>";
  trace::Trace trace = trace_of(1);
  trace.workers[0].add(compute(kForward0, 0, 1));
  const std::string picture = schedule_picture(plan, trace);
  EXPECT_THAT(picture, HasSubstr("a&lt;b&gt;&amp;&quot;c&quot; · \xEF\xBF\xBD\xEF\xBF\xBD"
                                 "\xEF\xBF\xBD<"));
  EXPECT_THAT(tooltips(picture).at(0), HasSubstr("forward of &lt;conv&gt;"));
}

TEST(SchedulePicture, StepTimeIsThatOfTheSteadyState) {
  trace::Trace trace = trace_of(1);
  double end = 0;
  for (const int minibatch : {0, 1, 2, 3}) {
    const double begin = end;
    end += minibatch < 2 ? 10 : 2;
    trace.workers[0].add(compute(kForward0, begin, end - 1, minibatch));
    trace.workers[0].add(compute(kUpdate, end - 1, end, minibatch));
  }
  EXPECT_THAT(schedule_picture(plan_of(1), trace), HasSubstr("· 2 s per step ·"));
}

TEST(SchedulePicture, TicksAreRoundAndInOneUnit) {
  trace::Trace trace = trace_of(1);
  trace.workers[0].add(compute(kForward0, 0, 730e-6));
  const std::string picture = schedule_picture(plan_of(1), trace);
  for (const char* tick : {">0 us<", ">100 us<", ">700 us<"}) {
    EXPECT_THAT(picture, HasSubstr(tick));
  }
  EXPECT_THAT(schedule_picture(plan_of(1), trace, {.begin = 12.3451, .end = 12.3459}),
              HasSubstr(">12.3452 s<"));
}

TEST(SchedulePicture, NothingToShowIsAPictureToo) {
  trace::Trace instants = trace_of(2);
  instants.workers[1].add(compute(kForward0, 3, 3));
  trace::Trace broken = trace_of(1);
  broken.workers[0].add(compute(kForward0, std::nan(""), 1));
  broken.workers[0].add(compute(kForward0, 1, std::nan("")));
  for (const std::string& picture :
       {schedule_picture({}, {}), schedule_picture(plan_of(2), trace_of(2)),
        schedule_picture(plan_of(2), instants), schedule_picture(plan_of(1), broken),
        schedule_picture(plan_of(2), trace_of(2), {.width = -1, .max_workers = -1})}) {
    EXPECT_THAT(picture, HasSubstr("nothing happens here"));
    EXPECT_THAT(picture, HasSubstr("</svg>\n"));
    EXPECT_THAT(picture, Not(testing::ContainsRegex("[^a-z](nan|inf)[^a-z]")));
  }
}

TEST(SchedulePicture, ATraceOfMoreWorkersThanThePlanIsRefused) {
  EXPECT_THROW(schedule_picture(plan_of(1), trace_of(2)), Failure);
}

TEST(SchedulePicture, AFileThatCannotBeMadeIsNamed) {
  const TempFolder folder;
  const std::string path = folder.path() / "file";
  write_schedule_picture(path, plan_of(2), trace_of(2));
  const std::string text = read_text(path);
  EXPECT_EQ(text, schedule_picture(plan_of(2), trace_of(2)));
  try {
    write_schedule_picture(path + "/picture.svg", plan_of(2), trace_of(2));
    ADD_FAILURE() << "written below a file";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot write '" + path + "/picture.svg'"));
  }
}

}  // namespace
}  // namespace plait::report
