// plait infer: the real network where it is there, small made-up ones, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

/// Two layers that hand on pixels 1 and 2, the second only together with the first.
class InferVerb : public ::testing::Test {
 protected:
  InferVerb() {
    add("net/n4-l1.tsv", "1\t1\t1\n1\t2\t0.25\n2\t2\t0.25\n3\t3\t0.25\n");
    add("net/n4-l2.tsv", "1\t1\t1\n2\t4\t2\n3\t4\t1\n");
    add("images.tsv", "1\t1\t1\n2\t2\t1\n3\t1\t1\n3\t2\t1\n5\t4\t1\n6\t1\t1\n");
  }
  void add(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    write_text(path, text);
  }
  std::string read(const std::string& name) const { return read_text(folder_.path() / name); }

  Ended infer(const Words& words) const {
    return run_plait(folder_.path(), Words{"infer"} + words);
  }
  Json json_of(const Words& words) const {
    const Ended ended = infer(words + Words{"--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(plait_lines(ended.err), ::testing::Each(HasSubstr("threads on ")));
    return Json::parse(ended.out, nullptr, false);
  }
  void expect_refused(const Words& words, const std::string& message) const {
    const Ended ended = infer(words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_THAT(plait_lines(ended.err), ElementsAre(HasSubstr(message)));
  }

  const Words small_{"--model", "graphchallenge:net", "--images", "images.tsv"};
  TempFolder folder_;
};

TEST_F(InferVerb, FindsTheImagesThatHaveAnOutput) {
  const Json json = json_of(small_ + Words{"--out", "found.tsv", "--threads", "2"});
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(read("found.tsv"), "1\n3\n6\n");
  EXPECT_EQ(json["categories"], 3);
  EXPECT_EQ(json["images"], 6);
  EXPECT_EQ(json["neurons"], 4);
  EXPECT_EQ(json["layers"], 2);
  EXPECT_EQ(json["edges"], 7);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_GE(json["read_seconds"], 0);
  EXPECT_FALSE(json.contains("exact"));
  for (const char* way : {"kept", "dropped"}) {
    ASSERT_TRUE(json.contains(way));
    const double seconds = json[way]["seconds"];
    EXPECT_NEAR(json[way]["edges_per_second"], 7 * 6 / seconds, 1e-6 * 42 / seconds);
  }
}

TEST_F(InferVerb, TheTruthHoldsOrIsAnError) {
  add("truth.tsv", "1\n3\n6\n");
  const Ended right = infer(small_ + Words{"--truth", "truth.tsv"});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  EXPECT_THAT(right.out, HasSubstr("exactly these images"));
  for (const auto& [truth, message] : std::vector<std::pair<std::string, std::string>>{
           {"1\n6\n", "image 3 has an output but the truth does not list it"},
           {"1\n2\n3\n6\n", "image 2 has no output but the truth lists it"},
           {"1\n3\n", "image 6 has an output but the truth does not list it"},
           {"", "image 1 has an output"}}) {
    add("truth.tsv", truth);
    const Ended wrong = infer(small_ + Words{"--truth", "truth.tsv", "--json"});
    EXPECT_EQ(wrong.exit_code, 1);
    EXPECT_THAT(plait_lines(wrong.err), ElementsAre(HasSubstr(message)));
    EXPECT_EQ(Json::parse(wrong.out, nullptr, false)["exact"], false);
  }
}

TEST_F(InferVerb, RepeatsImagesAndTruth) {
  add("truth.tsv", "1\n3\n6\n");
  const Json json =
      json_of(small_ + Words{"--truth", "truth.tsv", "--repeat", "100", "--out", "found.tsv"});
  EXPECT_EQ(json["images"], 600);
  EXPECT_EQ(json["categories"], 300);
  EXPECT_EQ(json["exact"], true);
  EXPECT_THAT(read("found.tsv"), HasSubstr("\n597\n600\n"));
}

TEST_F(InferVerb, KeepAllMeasuresNothingElse) {
  const Json json = json_of(small_ + Words{"--keep-all"});
  EXPECT_TRUE(json.contains("kept"));
  EXPECT_FALSE(json.contains("dropped"));
  EXPECT_THAT(infer(small_).out, HasSubstr("dead images dropped"));
  EXPECT_THAT(infer(small_ + Words{"--keep-all"}).out, Not(HasSubstr("dropped")));
}

TEST_F(InferVerb, MakesNetworksAndImagesUp) {
  const Words made{"--model", "radixnet:64x20", "--count", "500", "--out", "found.tsv"};
  const Json json = json_of(made + Words{"--threads", "1"});
  EXPECT_EQ(json["images"], 500);
  EXPECT_EQ(json["edges"], 64 * 32 * 20);
  EXPECT_GT(json["categories"], 10);
  EXPECT_LT(json["categories"], 400);
  const std::string found = read("found.tsv");
  json_of(made + Words{"--threads", "3"});
  EXPECT_EQ(read("found.tsv"), found);
  json_of(made + Words{"--seed", "2"});
  EXPECT_NE(read("found.tsv"), found);
}

TEST_F(InferVerb, RefusesBadInput) {
  add("bad.tsv", "1\t1\t1\n1\t5\t1\n");
  add("odd.tsv", "1\tx\t1\n");
  add("far.tsv", "1\n7\n");
  const Words net{"--model", "graphchallenge:net"};
  expect_refused({}, "infer needs a network");
  expect_refused(net, "infer needs images");
  expect_refused({"--model", "lenet"}, "--model lenet: infer takes graphchallenge:FOLDER or");
  expect_refused({"--model", "graphchallenge:nowhere", "--images", "images.tsv"}, "nowhere: is no");
  expect_refused({"--model", "radixnet:100x2"}, "100 neurons are not a power of two");
  expect_refused(net + Words{"--images", "none.tsv"}, "none.tsv");
  expect_refused(net + Words{"--images", "bad.tsv"}, "bad.tsv:2: pixel 5 is not within 1 and 4");
  expect_refused(net + Words{"--images", "odd.tsv"}, "odd.tsv:1: the pixel");
  expect_refused(small_ + Words{"--truth", "none.tsv"}, "none.tsv");
  expect_refused(small_ + Words{"--truth", "far.tsv"}, "lists image 7 but there are 6 images");
  expect_refused(small_ + Words{"--repeat", "0"}, "--repeat 0 is out of range");
  expect_refused(small_ + Words{"--repeat", "16777216", "--threads", "1025"}, "--threads 1025");
  expect_refused(small_ + Words{"--count", "3"}, "--count is for generated images");
  expect_refused(small_ + Words{"--out", "no/where.tsv"}, "no/where.tsv");
  add("net/n4-l2.tsv", "1\t5\t1\n");
  expect_refused(small_, "n4-l2.tsv:1: column 5 is not within 1 and 4");
}

TEST_F(InferVerb, IsExactOnTheRealNetwork) {
  const std::string data = PLAIT_SOURCE_DIR "/../shared/data/graphchallenge/";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "skipped: data not there";
  const std::string folder = folder_.path().string();
  const std::string unpack = fmt::format(
      "tar -xf '{0}neuron1024.tar.xz' -C '{1}' && xz -dc "
      "'{0}sparse-images-1024-first1200.tsv.xz' > '{1}/real.tsv'",
      data, folder);
  if (std::system(unpack.c_str()) != 0) GTEST_SKIP() << "skipped: data cannot be unpacked";
  const Json json = json_of({"--model", "graphchallenge:neuron1024", "--images", "real.tsv",
                             "--truth", data + "neuron1024-l120-categories-first1200.tsv"});
  EXPECT_EQ(json["images"], 1200);
  EXPECT_EQ(json["categories"], 19);
  EXPECT_EQ(json["exact"], true);
}

}  // namespace
}  // namespace plait::cli
