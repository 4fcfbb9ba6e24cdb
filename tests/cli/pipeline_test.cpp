// Pipelines from the command line: the bits of threads under mpirun, the tables and pictures for
// people, and what is refused.
#include <gmock/gmock.h>

#include "cli/mpi_job.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

struct Job {
  std::string strategy;
  std::string pipeline;
  int microbatches;
  int workers;
};

/// CIFAR-10 records of noise.
void write_records(const std::filesystem::path& file, int records) {
  std::ofstream out(file, std::ios::binary);
  std::uint32_t noise = 1;
  for (int i = 0; i < records * 3073; ++i) {
    noise = noise * 1664525 + 1013904223;
    out.put(i % 3073 == 0 ? static_cast<char>(i / 3073 % 10) : static_cast<char>(noise >> 24));
  }
}

class PipelineCli : public MpiTest {
 protected:
  Words words(const Job& job, const Words& model) const {
    return Words{"train",
                 "--batch",
                 "16",
                 "--epochs",
                 "1",
                 "--threads",
                 "1",
                 "--pin",
                 "none",
                 "--json",
                 "--quiet",
                 "--run-dir",
                 "none",
                 "--strategy",
                 job.strategy,
                 "--pipeline",
                 job.pipeline,
                 "--microbatches",
                 std::to_string(job.microbatches)} +
           model;
  }

  void expect_equal(const Job& one, const Words& model) {
    SCOPED_TRACE(one.strategy + " " + one.pipeline + " " + std::to_string(one.workers));
    const Words all = words(one, model);
    const Words threads =
        Words{PLAIT_BINARY} + all + Words{"--workers", std::to_string(one.workers)};
    const Json here = result_of(run({.command = threads, .directory = folder_.path()}));
    const Json there = result_of(run(job(ranks(one.workers, all))));
    for (const char* field : {"weights_hash", "bytes_sent", "messages_sent", "train_loss",
                              "staleness_max", "workers"}) {
      EXPECT_EQ(there[field], here[field]) << field;
    }
    EXPECT_EQ(there["workers"], one.workers);
  }

  Words images() {
    const auto folder = path("images");
    std::filesystem::create_directories(folder);
    write_records(folder / "data_batch_1.bin", 32);
    write_records(folder / "test_batch.bin", 16);
    return {"--data", "cifar10:images"};
  }
};

TEST_F(PipelineCli, ProcessesGiveTheBitsOfThreads) {
  const Words mlp{"--model",       "mlp:32-32-32-32-32-32-32-32-32",
                  "--data",        "glyphs",
                  "--train-limit", "200",
                  "--test-limit",  "32"};
  for (const int workers : {2, 3, 4, 8}) {
    expect_equal({"layerpipe", "sync", 4, workers}, mlp);
    expect_equal({"layerpipe", "async", 1, workers}, mlp);
  }
  expect_equal({"pipedream-replicated", "async", 4, 3}, mlp);
  expect_equal({"zb-h2", "sync", 4, 4}, mlp);
}

TEST_F(PipelineCli, ProcessesGiveTheBitsOfThreadsOnImagesToo) {
  for (const char* model : {"resnet20", "vgg11"}) {
    const Words network = Words{"--model", model} + images();
    expect_equal({"layerpipe", "sync", 4, 3}, network);
    expect_equal({"layerpipe", "async", 1, 4}, network);
  }
}

TEST_F(PipelineCli, TablesAndAPictureBeforeAndAfter) {
  const Words all{PLAIT_BINARY,
                  "train",
                  "--model",
                  "lenet",
                  "--data",
                  "glyphs",
                  "--batch",
                  "16",
                  "--steps",
                  "12",
                  "--threads",
                  "1",
                  "--workers",
                  "3",
                  "--strategy",
                  "layerpipe",
                  "--pipeline",
                  "async",
                  "--run-dir",
                  "none",
                  "--test-limit",
                  "32",
                  "--schedule-picture",
                  "run.svg"};
  const Ended ended = run({.command = all, .directory = folder_.path()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("layerpipe, planned"));
  EXPECT_THAT(ended.err, HasSubstr("layerpipe, measured:"));
  EXPECT_THAT(ended.err, HasSubstr("worker  tasks"));
  EXPECT_THAT(ended.err, HasSubstr("F conv1"));
  EXPECT_THAT(read_text(path("run.svg")), HasSubstr("<svg"));

  const Words planned{PLAIT_BINARY,         "plan",      "--model", "vgg11", "--workers",      "4",
                      "--strategies",       "layerpipe", "--batch", "32",    "--microbatches", "8",
                      "--schedule-picture", "plan.svg"};
  const Ended plan = run({.command = planned, .directory = folder_.path()});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("busy"));
  EXPECT_THAT(plan.out, HasSubstr("worker  tasks"));
  EXPECT_THAT(read_text(path("plan.svg")), HasSubstr("<svg"));
}

TEST_F(PipelineCli, RefusesInOneLineWithTheNearestValueThatWorks) {
  const auto refusal = [&](const Words& words) {
    const Ended ended = run({.command = Words{PLAIT_BINARY} + words, .directory = folder_.path()});
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    return ended.err;
  };
  const Words lenet{"train",   "--model", "lenet",     "--data", "glyphs",
                    "--batch", "16",      "--run-dir", "none",   "--quiet"};
  EXPECT_THAT(refusal(lenet + Words{"--strategy", "gpipe", "--workers", "9"}),
              HasSubstr("use at most 8 workers"));
  EXPECT_THAT(refusal(lenet + Words{"--strategy", "layerpipe", "--workers", "2",
                                    "--memory-per-worker", "1"}),
              HasSubstr("use --memory-per-worker "));
  EXPECT_THAT(
      refusal(lenet + Words{"--strategy", "layerpipe", "--workers", "2", "--clip-norm", "1"}),
      HasSubstr("--clip-norm"));
  EXPECT_THAT(
      refusal(lenet + Words{"--strategy", "gpipe", "--workers", "2", "--pipeline", "async"}),
      HasSubstr("gpipe has no such option"));
  EXPECT_THAT(
      refusal(lenet + Words{"--strategy", "layerpipe", "--workers", "2", "--weights", "rebuilt"}),
      HasSubstr("--pipeline async"));
  EXPECT_THAT(refusal(lenet + Words{"--pipeline", "asink", "--strategy", "layerpipe"}),
              HasSubstr("did you mean"));
  EXPECT_THAT(refusal(lenet + Words{"--weights", "stach", "--strategy", "layerpipe"}),
              HasSubstr("did you mean"));
  const Words layerpipe = lenet + Words{"--strategy", "layerpipe", "--workers", "2"};
  EXPECT_THAT(refusal(layerpipe + Words{"--max-staleness", "1"}), HasSubstr("--pipeline async"));
  EXPECT_THAT(refusal(layerpipe + Words{"--pipeline", "async", "--max-staleness", "old"}),
              HasSubstr("--max-staleness old"));
  EXPECT_THAT(refusal(lenet + Words{"--strategy", "gpipe", "--max-staleness", "1"}),
              HasSubstr("gpipe has no such option"));
}

TEST_F(PipelineCli, IsNoStalerThanPipeDreamUnlessAskedFor) {
  const Words plan{"plan",  "--model", "lenet",        "--workers", "2,3,4",        "--pipeline",
                   "async", "--json",  "--strategies", "layerpipe", "--data-shape", "1x28x28"};
  const auto stalest = [&](const Words& more) {
    const Ended ended =
        run({.command = Words{PLAIT_BINARY} + plan + more, .directory = folder_.path()});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = Json::parse(ended.out);
    std::vector<int> delays;
    for (const Json& one : result["plans"]) delays.push_back(one["staleness_max"]);
    return delays;
  };
  const std::vector<int> usual = stalest({});
  ASSERT_EQ(usual.size(), 3U);
  for (std::size_t i = 0; i < usual.size(); ++i) EXPECT_LE(usual[i], static_cast<int>(i) + 1);
  EXPECT_THAT(stalest({"--max-staleness", "0"}), ::testing::Each(0));
}

}  // namespace
}  // namespace plait::cli
