// plait plan: its table and JSON, plans as text, simulated traces, profiles of ours and published
// ones; and what it refuses, in one line, with exit code 2.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class PlanVerb : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  Ended plan(const Words& words) const { return run_plait(folder_.path(), Words{"plan"} + words); }

  std::string text_of(const Words& words) const {
    const Ended ended = plan(words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }

  Json json_of(const Words& words) const {
    const std::string text = text_of(words + Words{"--json"});
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    return Json::parse(text, nullptr, false);
  }

  void expect_refused(const Words& words, const std::string& message) const {
    for (const Words& way : {Words{}, Words{"--json"}, Words{"--show"}}) {
      const Ended ended = plan(words + way);
      EXPECT_EQ(ended.exit_code, 2) << ended.err;
      EXPECT_EQ(ended.out, "");
      EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
      EXPECT_THAT(plait_lines(ended.err), ElementsAre(HasSubstr(message))) << ended.err;
    }
  }

  /// A profile of lenet; measured once for the test that calls it.
  void write_profile() const {
    const Ended ended =
        run_plait(folder_.path(), {"profile", "--model", "lenet", "--batch", "8", "--threads", "1",
                                   "--steps", "1", "--out", "lenet.json", "--json"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(Json::parse(ended.out, nullptr, false),
              Json::parse(read_text(path("lenet.json")), nullptr, false));
  }

  TempFolder folder_;
};

TEST_F(PlanVerb, GivesEveryField) {
  const Json json =
      json_of({"--model", "mlp:32", "--classes", "784", "--workers", "1,2,5", "--batch", "64"});
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["model"], "mlp:32");
  EXPECT_EQ(json["batch"], 64);
  EXPECT_EQ(json["simulated"], true);
  std::vector<std::string> seen;
  for (const Json& plan : json["plans"]) {
    for (const char* field : {"strategy", "workers", "step_seconds", "speedup", "utilisation",
                              "bytes_per_step", "peak_memory_bytes", "staleness_max"}) {
      EXPECT_TRUE(plan.contains(field)) << field;
    }
    seen.push_back(
        fmt::format("{}{}", plan["strategy"].get<std::string>(), plan["workers"].get<int>()));
    EXPECT_GT(plan["step_seconds"], 0);
    EXPECT_GT(plan["speedup"], 0);
    EXPECT_GT(plan["utilisation"], 0);
    EXPECT_LE(plan["utilisation"], 1 + 1e-9);
    EXPECT_GT(plan["peak_memory_bytes"], 0);
    const bool late = plan["strategy"] == "pipedream-2bw" ||
                      (plan["workers"] > 1 && seen.back().starts_with("pipedream"));
    EXPECT_EQ(plan["staleness_max"], late ? 1 : 0) << seen.back();
    EXPECT_EQ(plan["bytes_per_step"] == 0, plan["workers"] == 1);
  }
  // mlp:32 has four blocks (flatten, linear, relu, linear), and only layerpipe can give a part of
  // one to a worker
  EXPECT_THAT(
      seen, ElementsAre("serial1", "data_parallel1", "data_parallel2", "data_parallel5",
                        "layerpipe1", "layerpipe2", "layerpipe5", "layerpipe-replicated1",
                        "layerpipe-replicated2", "layerpipe-replicated5", "gpipe1", "gpipe2",
                        "1f1b1", "1f1b2", "1f1b-interleaved1", "1f1b-interleaved2", "pipedream1",
                        "pipedream2", "pipedream-replicated1", "pipedream-replicated2",
                        "pipedream-2bw1", "pipedream-2bw2", "zb-h11", "zb-h12", "zb-h21", "zb-h22",
                        "zb-v1", "zb-v2", "sparse_rows1", "sparse_rows2", "sparse_rows5"));
  EXPECT_DOUBLE_EQ(json["plans"][0]["speedup"], 1);
}

TEST_F(PlanVerb, SaysWhichIsBestAndWhatLimitsIt) {
  const Words task{"plan",
                   "--model",
                   "vgg11",
                   "--batch",
                   "64",
                   "--nodes",
                   "2",
                   "--workers-per-node",
                   "2",
                   "--link-between-nodes",
                   "100Mbit/s,100us",
                   "--strategies"};
  const Ended fast = run_plait(folder_.path(), task + Words{"data_parallel,local_sgd,1f1b"});
  ASSERT_EQ(fast.exit_code, 0) << fast.err;
  EXPECT_THAT(fast.out, HasSubstr("best: local_sgd on 4 workers"));
  EXPECT_THAT(fast.out, HasSubstr("limited by bytes: with links that take no time"));
  EXPECT_THAT(fast.out, HasSubstr("it lets nodes have weights of their own"));
  EXPECT_THAT(fast.out, HasSubstr("best that is plain SGD: 1f1b on 4 workers"));
  EXPECT_LT(fast.out.find("\nlocal_sgd"), fast.out.find("\n1f1b"));  // best first
  EXPECT_LT(fast.out.find("\n1f1b"), fast.out.find("\ndata_parallel"));
  const Ended one = run_plait(folder_.path(), task + Words{"1f1b"});
  EXPECT_EQ(one.out.find("best:"), std::string::npos);
}

TEST_F(PlanVerb, BytesAreThoseOfARealStep) {
  const Words task{"--model", "mlp:256", "--batch", "64", "--workers", "2"};
  const Json planned = json_of(task + Words{"--strategies", "data_parallel"})["plans"][0];
  const Ended ended =
      run_plait(folder_.path(), Words{"train"} + task +
                                    Words{"--data", "glyphs", "--train-limit", "640", "--steps",
                                          "10", "--threads", "1", "--strategy", "data_parallel",
                                          "--run-dir", "none", "--json", "--quiet"});
  const Json trained = Json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(trained.is_object()) << ended.err;
  const double steps = trained["steps"];
  EXPECT_NEAR(trained["bytes_sent"].get<double>() / steps, planned["bytes_per_step"],
              0.01 * planned["bytes_per_step"].get<double>());  // the last layer is padded
  EXPECT_EQ(trained["messages_sent"].get<double>() / steps, planned["messages_per_step"]);
}

TEST_F(PlanVerb, HalfTheBytesAndSlowerLinks) {
  const Words task{"--model", "mlp:256", "--workers", "2", "--strategies", "data_parallel"};
  const Json usual = json_of(task)["plans"][0];
  const Json half = json_of(task + Words{"--wire", "bf16"})["plans"][0];
  EXPECT_EQ(2 * half["bytes_per_step"].get<std::int64_t>(), usual["bytes_per_step"]);
  EXPECT_LT(half["step_seconds"], usual["step_seconds"]);
  const Json slow =
      json_of(task + Words{"--nodes", "2", "--link-between-nodes", "10Mbit/s,100us"})["plans"][0];
  EXPECT_EQ(slow["nodes"], 2);
  // Each worker sends half of all it sends in a step through its own end of the link.
  EXPECT_GT(slow["step_seconds"], usual["bytes_per_step"].get<double>() / 2 * 8 / 10e6);
}

TEST_F(PlanVerb, TheTableHasOneLinePerPlan) {
  const std::string text = text_of({"--model", "lenet", "--nodes", "2", "--workers-per-node", "2"});
  EXPECT_THAT(text, HasSubstr("lenet, batch 64; simulated, nothing was run\n"
                              "costs: counted for 96 GFLOP/s x 0.6 and 10 GB/s per worker"));
  EXPECT_THAT(text, HasSubstr("strategy"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\ndata_parallel +2 x 2 +[0-9.]+ +[0-9.]+x +[0-9]+%"));
  EXPECT_THAT(text, HasSubstr("\nnot possible: serial: "));
  EXPECT_THAT(text_of({"--model", "lenet", "--nodes", "16"}), HasSubstr("16 x 1"));
}

TEST_F(PlanVerb, TheTableFitsIntoEightyColumnsAndSaysWhatIsDataParallelism) {
  const std::string text =
      text_of({"--model", "vgg11", "--batch", "64", "--microbatches", "2", "--workers", "2"});
  std::istringstream lines(text.substr(0, text.find("not possible")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(text,
              HasSubstr("note: layerpipe-replicated on 2 workers gives every worker the whole "
                        "network:\n"
                        "      this plan is data parallelism\n"));
}

TEST_F(PlanVerb, ShowsThePlansThemselves) {
  const Words one{"--model", "mlp:32", "--workers", "2", "--strategies", "data_parallel", "--show"};
  const std::string text = text_of(one);
  for (const char* part : {"data_parallel: mlp:32 on 2 workers", "load", "forward of fc1", "loss",
                           "backward_weights", "reduce_start of bucket 0", "update"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const Json json = json_of(one);
  EXPECT_EQ(json["strategy"], "data_parallel");
  ASSERT_EQ(json["workers"].size(), 2U);
  EXPECT_EQ(json["workers"][1]["tasks"][0]["kind"], "load");
}

TEST_F(PlanVerb, WritesTheSimulatedTrace) {
  for (const int workers : {2, 65}) {
    const Ended ended = plan({"--model", "mlp:32", "--batch", "65", "--workers",
                              std::to_string(workers), "--trace", "trace.json", "--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("trace.json"));
    EXPECT_TRUE(Json::parse(ended.out, nullptr, false).is_object());
    const Json trace = Json::parse(read_text(path("trace.json")), nullptr, false);
    ASSERT_TRUE(trace.is_object());
    std::set<int> seen;
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] == "X") seen.insert(event["tid"].get<int>());
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(workers));
  }
}

TEST_F(PlanVerb, TakesWhatProfileMeasured) {
  write_profile();
  const Json profile = Json::parse(read_text(path("lenet.json")), nullptr, false);
  for (const char* field : {"model", "batch", "threads", "blocks", "step_ms"}) {
    EXPECT_TRUE(profile.contains(field)) << field;
  }
  const Json alone = json_of({"--profile", "lenet.json", "--workers", "1,2"});
  EXPECT_EQ(alone["model"], "lenet");
  EXPECT_EQ(alone["batch"], 8);
  EXPECT_THAT(alone["cost"].get<std::string>(), HasSubstr("lenet.json"));
  double tasks_ms = profile["loss_ms"];
  for (const Json& block : profile["blocks"]) {
    for (const char* task : {"forward_ms", "backward_data_ms", "backward_weights_ms", "update_ms"})
      tasks_ms += block[task].get<double>();
  }
  EXPECT_NEAR(alone["plans"][0]["step_seconds"], tasks_ms / 1e3, 1e-9 * tasks_ms);
  EXPECT_GT(profile["step_ms"], 0);
  const Json named = json_of({"--profile", "lenet.json", "--model", "lenet", "--data-shape",
                              "1x28x28", "--workers", "1,2"});
  EXPECT_EQ(named["plans"], alone["plans"]);
}

/// Times are never asserted: what is off is printed, ./run bench parallel publishes it.
TEST_F(PlanVerb, PredictionBesideAMeasurement) {
  const Words model{"--model", "lenet", "--batch", "64"};
  const Ended profile =
      run_plait(folder_.path(), Words{"profile", "--threads", "1", "--out", "p.json"} + model);
  ASSERT_EQ(profile.exit_code, 0) << profile.err;
  const Json plans =
      json_of(model + Words{"--profile", "p.json", "--workers", "1,2", "--strategies",
                            "serial,data_parallel,layerpipe"})["plans"];
  ASSERT_EQ(plans.size(), 5U);  // serial with 1, the others with 1 and 2
  for (const Json& one : plans) {
    const std::string workers = std::to_string(one["workers"].get<int>());
    const Ended train = run_plait(
        folder_.path(), Words{"train", "--steps", "40", "--threads", "1", "--run-dir", "none",
                              "--json", "--strategy", one["strategy"], "--workers", workers} +
                            model);
    ASSERT_EQ(train.exit_code, 0) << train.err;
    const double measured = Json::parse(train.out, nullptr, false)["step_seconds"];
    const double predicted = one["step_seconds"];
    EXPECT_GT(predicted, 0);
    fmt::print("{} with {} worker(s): predicted {:.2f} ms, measured {:.2f} ms, off by {:+.1f} %\n",
               one["strategy"].get<std::string>(), workers, 1e3 * predicted, 1e3 * measured,
               100 * (predicted / measured - 1));
  }
}

TEST_F(PlanVerb, RefusesProfilesThatDoNotFit) {
  write_profile();
  expect_refused(
      {"--profile", "lenet.json", "--model", "mlp:32"},
      "lenet.json: a profile of another network ('lenet', but the plan is for 'mlp:32')");
  expect_refused({"--profile", "lenet.json", "--model", "lenet", "--data-shape", "1x32x32"},
                 "a profile of another network");
  expect_refused({"--profile", "none.json"}, "none.json: cannot be opened");
  expect_refused({"--profile", "."}, "is a folder");
  const std::string good = read_text(path("lenet.json"));
  write_text(path("bad"), good.substr(0, good.size() / 2));
  expect_refused({"--profile", "bad"}, "bad: not valid JSON");
  Json other = Json::parse(good);
  other["blocks"][0]["forward_ms"] = -1;
  write_text(path("bad"), other.dump());
  expect_refused({"--profile", "bad"}, "forward_ms is -1");
  other = Json::parse(good);
  other["batch"] = 1e300;
  write_text(path("bad"), other.dump());
  expect_refused({"--profile", "bad"}, "bad: ");
  other = Json::parse(good);
  other.erase("blocks");
  write_text(path("bad"), other.dump());
  expect_refused({"--profile", "bad"}, "blocks");
  write_text(path("bad"), "");
  expect_refused({"--profile", "bad"}, "bad: ");
  write_text(path("bad"), std::string("\xff\xfe\x00\x01{", 5));
  expect_refused({"--profile", "bad"}, "bad");
}

TEST_F(PlanVerb, RefusesMachinesThatCannotBe) {
  const auto refused = [&](const Words& words, const std::string& message) {
    expect_refused(Words{"--model", "mlp:32"} + words, message);
  };
  refused({"--nodes", "0"}, "--nodes 0 is out of range; it must be between 1 and");
  refused({"--workers", "0"}, "--workers 0 is out of range");
  refused({"--workers", "1,2,-1"}, "--workers -1 is out of range");
  refused({"--workers", "1,,2"}, "--workers needs a whole number");
  refused({"--workers", "4294967297"}, "--workers 4294967297 is out of range");
  refused({"--workers", "3", "--nodes", "2"},
          "--workers 3 cannot be shared evenly by --nodes 2; try 2");
  refused({"--workers", "4", "--workers-per-node", "2"}, "exclude each other");
  refused({"--workers-per-node", "x", "--workers", "1"}, "--workers-per-node needs a whole number");
  refused({"--nodes", "1048576", "--workers-per-node", "1048576"}, "");
  for (const char* flag : {"--link-between-nodes", "--link-inside-node"}) {
    refused({flag, "fast"}, fmt::format("{}: 'fast' is no link", flag));
    refused({flag, "0Gbit/s"}, fmt::format("{}: '0Gbit/s' is 0 bytes/s", flag));
    refused({flag, "1Gbit/s,-5us"}, "is no link");
    refused({flag, "1Gbit/s,5us,7us"}, "is no link");
    refused({flag, ""}, flag);
  }
}

TEST_F(PlanVerb, RefusesPlansThatCannotBe) {
  const auto refused = [&](const Words& words, const std::string& message) {
    expect_refused(Words{"--model", "lenet"} + words, message);
  };
  refused({"--strategies", "data_paralel"},
          "data_paralel is no strategy (did you mean 'data_parallel'?)");
  refused({"--strategies", "serial,data_paralel"}, "did you mean 'data_parallel'?");
  refused({"--strategies", "serial", "--workers", "2"}, "serial is for one worker");
  refused({"--workers", "100", "--batch", "64"}, "--workers 100 are more than the plan can use");
  refused({"--workers", "100", "--batch", "64", "--strategies", "data_parallel"},
          "use at most 64 workers or a --batch of at least 100");
  refused(
      {"--workers", "2", "--batch", "4", "--microbatches", "3", "--strategies", "data_parallel"},
      "more than the plan can use");
  refused({"--memory-per-worker", "1"}, "the machine has 1.0 MiB for each");
  refused({"--memory-per-worker", "1", "--workers", "2", "--strategies", "data_parallel"},
          "worker 0 needs about ");
  refused({"--wire", "fp8"}, "--wire fp8 is not known (did you mean 'fp32'?)");
  refused({"--microbatches", "0"}, "--microbatches 0 is out of range");
  refused({"--pipeline", "asnyc"}, "--pipeline asnyc is not known (did you mean 'async'?)");
  refused({"--weights", "none"},
          "--weights none is not known; there are: stash, rebuilt, predicted");
  refused({"--in-flight", "-1"}, "--in-flight -1 is out of range");
  refused({"--strategies", "gpipe", "--batch", "2", "--microbatches", "3"},
          "--microbatches 3 are more than the 2 samples");
  refused({"--batch", "0"}, "--batch 0 is out of range");
  refused({"--data-shape", "28"}, "28");
  refused({"--trace", "nowhere/t.json"}, "--trace nowhere/t.json: there is no folder nowhere");
  expect_refused({}, "add --model NAME or --profile FILE");
  expect_refused({"--model", "lent"}, "did you mean 'lenet'?");
}

class PublishedProfiles : public PlanVerb {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(kFolder)) {
      GTEST_SKIP() << kFolder << " is not there";
    }
  }
  const std::filesystem::path kFolder =
      std::filesystem::path(PLAIT_SOURCE_DIR) / "../shared/data/pipedream-profiles";
};

TEST_F(PublishedProfiles, ArePlanned) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    if (file.path().extension() != ".txt") continue;
    ++count;
    const Json json =
        json_of({"--profile", file.path().string(), "--workers", "1,2,8", "--microbatches", "8"});
    EXPECT_EQ(json["model"], file.path().stem().string());
    ASSERT_EQ(json["plans"].size(), 1 + 12 * 3U) << file.path();  // serial with 1 worker only
    std::map<std::string, double> last;
    for (const Json& plan : json["plans"]) {
      const double speedup = plan["speedup"];
      double& before = last[plan["strategy"]];
      EXPECT_GE(speedup, before - 1e-9) << plan;
      EXPECT_LE(speedup, plan["workers"].get<double>() + 1e-9) << plan;
      before = speedup;
    }
    last.erase("serial");
    for (const auto& [strategy, speedup] : last) EXPECT_GT(speedup, 1.5) << strategy;
  }
  EXPECT_GT(count, 0);
}

TEST_F(PublishedProfiles, AreRefusedWhenDamagedOrMisnamed) {
  const std::filesystem::path file = kFolder / "vgg16.txt";
  expect_refused({"--profile", file.string(), "--model", "vgg16"}, "leave --model away");
  const std::string good = read_text(file);
  write_text(path("short.txt"), good.substr(0, 2000));
  expect_refused({"--profile", "short.txt"}, "short.txt:12: ");
  std::string text = good;
  text[text.find("forward_compute_time=") + 21] = 'x';
  write_text(path("number.txt"), text);
  expect_refused({"--profile", "number.txt"}, "number.txt:1: forward_compute_time");
}

}  // namespace
}  // namespace plait::cli
