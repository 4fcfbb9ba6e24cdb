// plait report and plait train --live from the command line.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include "cli/process.hpp"

namespace plait::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class Report : public ::testing::Test {
 protected:
  Ended plait(const Words& words) const { return run_plait(folder_.path(), words); }
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  Json train(const Words& words) const {
    const Ended ended = plait(Words{"train", "--model", "lenet", "--train-limit", "96",
                                    "--test-limit", "32", "--batch", "16", "--epochs", "2",
                                    "--threads", "1", "--pin", "none", "--json", "--quiet"} +
                              words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out);
  }
  std::string refusal(const Words& words) const {
    const Ended ended = plait(words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    return ended.err;
  }
  Json record(const std::string& run) const {
    return Json::parse(read_text(path(run) / "report.json"));
  }

  TempFolder folder_;
};

TEST_F(Report, OfARunIsThereWhenItEnds) {
  const Json result = train({"--run-dir", "one"});
  const std::string page = read_text(path("one") / "report.html");
  EXPECT_THAT(page, HasSubstr("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr(result["weights_hash"].get<std::string>()));
  const Json one = record("one");
  EXPECT_EQ(one["result"], result);
  EXPECT_EQ(one["plan"]["workers"], 1);
  EXPECT_EQ(one["measured"]["timeline"]["last_step"], 11);
  EXPECT_GT(one["measured"]["breakdown"]["workers"][0]["forward"], 0);
  EXPECT_EQ(one["predicted"]["source"], "analytic");
}

TEST_F(Report, OfAKilledRunHasTheTimelineOfItsLastEpoch) {
  const Ended killed =
      run({.command = {PLAIT_BINARY, "train",        "--model",    "lenet",         "--train-limit",
                       "96",         "--test-limit", "32",         "--batch",       "16",
                       "--epochs",   "100000",       "--strategy", "data_parallel", "--workers",
                       "2",          "--threads",    "1",          "--pin",         "none",
                       "--quiet",    "--run-dir",    "dead"},
           .directory = folder_.path(),
           .signal = SIGKILL,
           .signal_file = path("dead") / "report.json"});
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_EQ(plait({"report", "dead"}).exit_code, 0);
  const Json dead = record("dead");
  EXPECT_TRUE(dead["result"].is_null());
  EXPECT_EQ(dead["measured"]["timeline"]["workers"].size(), 2U);
  EXPECT_EQ(dead["measured"]["timeline"]["last_step"], 5);
}

TEST_F(Report, CanBeMadeAgainWithTheSameBytes) {
  train({"--run-dir", "one"});
  const std::string first = read_text(path("one") / "report.html");
  fs::remove(path("one") / "report.html");
  const Ended ended = plait({"report", "one"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("one/report.html"));
  EXPECT_EQ(read_text(path("one") / "report.html"), first);
}

TEST_F(Report, OfSeveralRunsIsOnePage) {
  train({"--run-dir", "runs/one"});
  train({"--run-dir", "runs/two", "--strategy", "data_parallel", "--workers", "2"});
  const Ended ended = plait({"report", "runs/one", "runs/two/", "--out", "both.html", "--json"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["file"], "both.html");
  const std::string page = read_text(path("both.html"));
  EXPECT_THAT(page, HasSubstr("{\"name\":\"one\",\"settings\""));
  EXPECT_THAT(page, HasSubstr("{\"name\":\"two\",\"settings\""));
  EXPECT_EQ(plait({"report", "runs/one", "runs/two"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(path("report.html")));
}

TEST_F(Report, HasTheMessagesOfEveryStrategy) {
  train({"--run-dir", "dp", "--strategy", "data_parallel", "--workers", "2"});
  const Json bytes = record("dp")["measured"]["breakdown"]["bytes"];
  EXPECT_GT(bytes[0][1].get<double>(), 0);
  EXPECT_EQ(bytes[0][0], 0);
  train({"--run-dir", "sparse", "--model", "radixnet:64x6", "--strategy", "sparse_rows",
         "--workers", "2"});
  const Json layers = record("sparse")["plan"]["volumes"];
  ASSERT_FALSE(layers.empty());
  for (const Json& layer : layers) {
    EXPECT_GT(layer["forward_words"], 0);
    EXPECT_EQ(layer["forward_words"], layer["backward_words"]);
  }
}

TEST_F(Report, OfTheTraceCountsAllBytesThatWereSent) {
  const Json result = train({"--run-dir", "pipe", "--strategy", "layerpipe", "--workers", "2"});
  double sum = 0;
  const Json found = record("pipe");
  for (const Json& row : found["measured"]["breakdown"]["bytes"]) {
    for (const Json& one : row) sum += one.get<double>();
  }
  EXPECT_NEAR(sum * result["steps"].get<double>(), result["bytes_sent"].get<double>(), 1);
}

TEST_F(Report, IsRefusedWithOneLine) {
  EXPECT_THAT(refusal({"report"}), HasSubstr("needs RUN"));
  EXPECT_THAT(refusal({"report", "nowhere"}), HasSubstr("nowhere: there is no such folder"));
  fs::create_directory(path("empty"));
  EXPECT_THAT(refusal({"report", "empty"}), HasSubstr("empty is not a run folder"));
  write_text(path("empty") / "config.toml", "modle = \"lenet\"\n");
  EXPECT_THAT(refusal({"report", "empty"}), HasSubstr("modle"));
  write_text(path("empty") / "config.toml", "model = \"lenet\"\n");
  EXPECT_THAT(refusal({"report", "empty", "--out", "no/such/page.html"}), HasSubstr("--out"));
  write_text(path("empty") / "metrics.jsonl", "{}\n{}\n");
  EXPECT_THAT(refusal({"report", "empty"}), HasSubstr("metrics.jsonl:1"));
  write_text(path("empty") / "metrics.jsonl", "");
  write_text(path("empty") / "report.json", "[]");
  EXPECT_THAT(refusal({"report", "empty"}), HasSubstr("report.json is damaged"));
  fs::remove(path("empty") / "report.json");
  EXPECT_FALSE(fs::exists(path("empty") / "report.html"));
  EXPECT_EQ(plait({"report", "empty"}).exit_code, 0);
}

/// A port of this machine that somebody else has.
class TakenPort {
 public:
  TakenPort() {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
    socklen_t size = sizeof(place);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&place), size), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size);
    number_ = ntohs(place.sin_port);
  }
  ~TakenPort() { close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  std::string text() const { return std::to_string(number_); }

 private:
  int socket_ = socket(AF_INET, SOCK_STREAM, 0);
  int number_ = 0;
};

TEST_F(Report, LiveIsRefusedBeforeAnythingIsMade) {
  const TakenPort taken;
  EXPECT_THAT(refusal({"train", "--live", taken.text()}),
              HasSubstr("port " + taken.text() + " of 127.0.0.1 is in use"));
  EXPECT_THAT(refusal({"train", "--live", "70000"}), HasSubstr("--live 70000 is out of range"));
  EXPECT_THAT(refusal({"train", "--live", "soon"}), HasSubstr("--live"));
  EXPECT_THAT(refusal({"train", "--live-bind", "0.0.0.0"}), HasSubstr("needs --live"));
  EXPECT_THAT(refusal({"train", "--live", "--live-bind", "here"}), HasSubstr("here"));
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(Report, LiveSaysWhereAndTrainsTheSameBits) {
  const Json usual = train({"--run-dir", "none"});
  const Ended ended = plait({"train", "--model", "lenet", "--train-limit", "96", "--test-limit",
                             "32", "--batch", "16", "--epochs", "2", "--threads", "1", "--pin",
                             "none", "--live", "--json", "--run-dir", "none"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("live at http://127.0.0.1:"));
  EXPECT_EQ(Json::parse(ended.out)["weights_hash"], usual["weights_hash"]);
}

}  // namespace
}  // namespace plait::cli
