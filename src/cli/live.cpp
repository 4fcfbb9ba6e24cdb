// Keeps the latest record, timeline and epochs under a lock, and answers the page's requests from
// them.
#include "cli/live.hpp"

#include "base/error.hpp"
#include "cli/run_report.hpp"
#include "cli/terminal.hpp"
#include "session/run_folder.hpp"

namespace plait::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPreparing =
    "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=1><link rel=icon "
    "href=data:,>"
    "<title>plait</title><p>The run is being prepared.</p>\n";
constexpr double kLooksOn = 5;                       // seconds since somebody last asked
constexpr auto kPatience = std::chrono::seconds(4);  // the page asks every two

std::optional<report::HttpAnswer> json_answer(const Json& json) {
  return report::HttpAnswer{.type = "application/json",
                            .body = json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace

Live::Live(const session::TrainConfig& config, const std::string& config_text,
           const LiveOptions& options)
    : name_(config.run_dir.empty() || config.run_dir == "none" ? "a run under way"
                                                               : config.run_dir),
      settings_(settings_json(config)),
      config_text_(config_text),
      server_(options.address, options.port,
              [this](const std::string& path) { return answer(path); }) {}

void Live::show(Json record) {
  auto run = std::make_shared<report::PageRun>();
  run->name = name_;
  run->settings = settings_;
  run->files.config = config_text_;
  run->files.record = std::move(record);
  const std::lock_guard lock(mutex_);
  run_ = std::move(run);
}

void Live::plan_made(const plan::Plan& plan, const report::Prediction& prediction) {
  prediction_ = &prediction;
  show(record_under_way(plan, prediction, nullptr));
}

void Live::timeline(const session::TimelineReport& report) {
  show(record_under_way(report.plan, *prediction_, &report.trace));
  const std::lock_guard lock(mutex_);
  ++timelines_;
}

void Live::step(const session::StepReport& report) {
  const std::lock_guard lock(mutex_);
  if (first_step_ == 0) {
    first_step_ = report.step;
    since_first_ = Stopwatch();
  }
  last_ = report;
  if (report.images_per_second > 0) {  // a single step says little
    const double now = 1 / report.images_per_second;
    seconds_per_image_ = seconds_per_image_ == 0 ? now : 0.95 * seconds_per_image_ + 0.05 * now;
  }
}

void Live::epoch(const session::EpochReport& report) {
  Json line = session::metrics_of(report);
  const std::lock_guard lock(mutex_);
  epochs_.push_back(std::move(line));
}

Json Live::progress() const {
  const std::int64_t steps = last_.step - first_step_;
  const double left = steps > 0 ? since_first_.seconds() / static_cast<double>(steps) *
                                      static_cast<double>(last_.total_steps - last_.step)
                                : 0;
  return {{"step", last_.step},
          {"total_steps", last_.total_steps},
          {"epoch", last_.epoch},
          {"loss", last_.loss},
          {"images_per_second", seconds_per_image_ > 0 ? 1 / seconds_per_image_ : 0},
          {"seconds_left", left},
          {"timelines", timelines_},
          {"ended", ended_}};
}

std::optional<report::HttpAnswer> Live::answer(const std::string& path) {
  if (path != "/" && path != "/data.json" && path != "/progress.json") return std::nullopt;
  std::shared_ptr<const report::PageRun> run;
  Json news;
  {
    const std::lock_guard lock(mutex_);
    since_asked_ = Stopwatch();
    run = run_;
    news = {{"progress", progress()}, {"epochs", epochs_}};
  }
  if (run == nullptr) {
    return report::HttpAnswer{.body = std::string(kPreparing), .status = path == "/" ? 200 : 503};
  }
  if (path == "/progress.json") return json_answer(news);
  report::PageRun now = *run;
  if (!news["progress"]["ended"].get<bool>()) now.files.epochs = news["epochs"];
  Json data = report::page_data({now});
  data["runs"][0]["progress"] = news["progress"];
  if (path == "/")
    return report::HttpAnswer{.body = report::page_html(report::script_json(data), true)};
  if (news["progress"]["ended"].get<bool>()) {
    const std::lock_guard lock(mutex_);
    told_end_ = true;
    fetched_.notify_all();
  }
  return json_answer(data);
}

void Live::ended(const session::TrainResult& result) {
  std::shared_ptr<const report::PageRun> done;
  if (!result.run_dir.empty()) done = std::make_shared<report::PageRun>(page_run(result.run_dir));
  std::unique_lock lock(mutex_);
  if (done == nullptr && run_ != nullptr) {
    auto again = std::make_shared<report::PageRun>(*run_);
    again->files.epochs = epochs_;
    done = std::move(again);
  }
  run_ = std::move(done);
  ended_ = true;
  if (!since_asked_ || since_asked_->seconds() > kLooksOn) return;
  fetched_.wait_for(lock, kPatience, [this] { return told_end_; });
}

std::vector<Option> live_options() {
  return {{.name = "--live",
           .value = "PORT",
           .help = "show the run in a browser while it trains; without PORT: a free one",
           .group = "Other",
           .value_optional = true},
          {.name = "--live-bind",
           .value = "ADDRESS",
           .help = "address to serve on; 0.0.0.0: reachable from other machines",
           .standard = "127.0.0.1",
           .group = "Other"}};
}

std::unique_ptr<Live> live_of(const Arguments& arguments, const session::TrainConfig& config,
                              const std::string& config_text) {
  const std::string* port = arguments.find("--live");
  if (port == nullptr) {
    if (arguments.find("--live-bind") != nullptr) user_error("--live-bind needs --live beside it");
    return nullptr;
  }
  LiveOptions options{.address = arguments.text("--live-bind", "127.0.0.1")};
  if (!port->empty()) options.port = static_cast<int>(arguments.integer("--live", 0, {0, 65535}));
  auto live = std::make_unique<Live>(config, config_text, options);
  tell("live at {}\n", live->url());
  return live;
}

}  // namespace plait::cli
