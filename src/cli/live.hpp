// plait train --live: the report page of a run while it goes on, from a server of our own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "cli/verb.hpp"
#include "report/http_server.hpp"
#include "report/page.hpp"
#include "report/record.hpp"
#include "session/train.hpp"

namespace plait::cli {

struct LiveOptions {
  std::string address = "127.0.0.1";
  int port = 0;
};

/// Hears what a run says and keeps it for the page. The run only ever waits for a few numbers to be
/// copied.
class Live : public session::TrainObserver {
 public:
  /// UserError where the port is taken.
  Live(const session::TrainConfig& config, const std::string& config_text,
       const LiveOptions& options);

  std::string url() const { return server_.url(); }
  /// `prediction` outlives the run.
  void plan_made(const plan::Plan& plan, const report::Prediction& prediction);
  /// The page of the finished run, from its folder where it has one. Returns when those who look on
  /// have it, or soon.
  void ended(const session::TrainResult& result);

  void step(const session::StepReport& report) override;
  void epoch(const session::EpochReport& report) override;
  void timeline(const session::TimelineReport& report) override;

 private:
  void show(nlohmann::ordered_json record);
  std::optional<report::HttpAnswer> answer(const std::string& path);
  nlohmann::ordered_json progress() const;

  std::string name_;
  nlohmann::ordered_json settings_;
  std::string config_text_;
  std::mutex mutex_;
  std::condition_variable fetched_;
  std::shared_ptr<const report::PageRun> run_;  ///< null before there is a plan
  const report::Prediction* prediction_ = nullptr;
  std::int64_t timelines_ = 0;  ///< that the run has told
  nlohmann::ordered_json epochs_ = nlohmann::ordered_json::array();
  session::StepReport last_;
  double seconds_per_image_ = 0;  ///< of the last steps
  std::int64_t first_step_ = 0;
  Stopwatch since_first_;
  std::optional<Stopwatch> since_asked_;
  bool ended_ = false;
  bool told_end_ = false;      ///< somebody has fetched the data of the finished run
  report::HttpServer server_;  ///< last: its thread uses the others
};

/// --live and --live-bind.
std::vector<Option> live_options();
/// Says where on stderr; null where --live was not given.
std::unique_ptr<Live> live_of(const Arguments& arguments, const session::TrainConfig& config,
                              const std::string& config_text);

}  // namespace plait::cli
