// Names of new folders, config.toml, metrics.jsonl (cut back when a run resumes) and checkpoints.
#include "session/run_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <vector>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "base/out_file.hpp"

namespace plait::session {

namespace {

namespace fs = std::filesystem;

/// Names with a folder in front are drawn together.
std::vector<Scalar> scalars_of(const EpochReport& report) {
  std::vector<Scalar> scalars{{"loss/train", report.train_loss},
                              {"loss/test", report.test_loss},
                              {"learning_rate", report.learning_rate},
                              {"speed/seconds_per_epoch", report.seconds},
                              {"speed/images_per_second", report.images_per_second}};
  if (report.test_accuracy) scalars.push_back({"accuracy/test", *report.test_accuracy});
  if (report.test_top5) scalars.push_back({"accuracy/test_top5", *report.test_top5});
  if (report.test_miou) scalars.push_back({"accuracy/test_miou", *report.test_miou});
  for (const run::Residual& one : report.residuals) {
    scalars.push_back({"residual/" + one.name, one.value});
  }
  return scalars;
}

/// runs/001-lenet, runs/002-vgg16, ...: the first number that no folder has. mkdir decides races.
fs::path new_folder(const std::string& model) {
  const fs::path runs = "runs";
  fs::create_directories(runs);
  int highest = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs)) {
    const std::string number = entry.path().filename().string();
    int value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    if (value < 1'000'000) highest = std::max(highest, value);
  }
  const std::string name = fs::path(model).stem().string();
  while (true) {
    const fs::path folder = runs / fmt::format("{:03}-{}", ++highest, name);
    if (fs::create_directory(folder)) return folder;
  }
}

/// metrics.jsonl of an earlier run.
struct OldMetrics {
  std::string text;
  std::string kept;          ///< the lines up to a step
  std::vector<int> damaged;  ///< numbers of the lines that are none of ours
};

OldMetrics read_metrics(const fs::path& path, std::int64_t last_step) {
  check_input_file(path);
  OldMetrics old;
  std::ifstream file(path, std::ios::binary);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    old.text += line + "\n";
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) {
      old.damaged.push_back(number);
    } else if (json["step"].get<std::int64_t>() <= last_step) {
      old.kept += line + "\n";
    }
  }
  return old;
}

}  // namespace

RunFolder::RunFolder(const TrainConfig& config, const std::string& config_text)
    : config_text_(config_text) {
  if (config.run_dir == "none") return;
  try {
    if (config.run_dir.empty()) {
      path_ = new_folder(config.model);
    } else {
      path_ = config.run_dir;
      if (fs::exists(path_) && !fs::is_directory(path_)) {
        setting_error("run_dir", path_.string(), "is a file; choose another folder");
      }
      const bool used = fs::exists(path_ / "config.toml") || fs::exists(path_ / "metrics.jsonl") ||
                        checkpoint::CheckpointStore(path_ / "checkpoints").latest().has_value();
      if (used && !config.resume) {
        user_error(
            "{} already holds a run; add `resume` to continue it, or choose another `run_dir`",
            path_.string());
      }
      fs::create_directories(path_);
    }
  } catch (const fs::filesystem_error& error) {
    user_error("cannot make the run folder {}: {}", error.path1().string(), error.code().message());
  }
  wants_tensorboard_ = config.tensorboard;
  store_.emplace(path_ / "checkpoints", static_cast<int>(config.keep_last));
  if (!fs::exists(path_ / "config.toml")) write_out_file(path_ / "config.toml", config_text_);
}

void RunFolder::keep(const std::string& name, const std::string& text) const {
  if (store_ && !text.empty()) write_out_file(path_ / name, text);
}

std::optional<checkpoint::Checkpoint> RunFolder::resume_point() const {
  if (!store_) return std::nullopt;
  const auto latest = store_->latest();
  if (!latest) return std::nullopt;
  return store_->load(latest->folder);
}

std::string RunFolder::latest_checkpoint_path() const {
  if (!store_) return "";
  const auto latest = store_->latest();
  return latest ? store_->path_of(latest->folder).string() : "";
}

void RunFolder::save(const checkpoint::Checkpoint& checkpoint) {
  if (store_) store_->save(checkpoint);
}

std::string RunFolder::begin(std::int64_t after_step) {
  if (!store_) return "";
  write_out_file(path_ / "config.toml", config_text_);
  const fs::path file = path_ / "metrics.jsonl";
  const OldMetrics old = read_metrics(file, after_step);
  std::string note;
  if (!old.damaged.empty()) {
    const fs::path copy = path_ / "metrics.jsonl.damaged";
    write_out_file(copy, old.text);
    note = fmt::format("{}: {} and left out; the file as it was is kept as {}", file.string(),
                       old.damaged.size() == 1
                           ? fmt::format("line {} is damaged", old.damaged.front())
                           : fmt::format("{} lines are damaged, the first is line {},",
                                         old.damaged.size(), old.damaged.front()),
                       copy.string());
  }
  write_out_file(file, old.kept);
  metrics_.open(file, std::ios::app);
  if (wants_tensorboard_) tensorboard_.emplace(path_ / "tensorboard", after_step);
  return note;
}

nlohmann::ordered_json metrics_of(const EpochReport& report) {
  nlohmann::ordered_json line{{"step", report.step},
                              {"epoch", report.epoch},
                              {"train_loss", report.train_loss},
                              {"test_loss", report.test_loss},
                              {"learning_rate", report.learning_rate},
                              {"seconds", report.seconds},
                              {"images_per_second", report.images_per_second}};
  if (report.test_accuracy) line["test_accuracy"] = *report.test_accuracy;
  if (report.test_top5) line["test_top5"] = *report.test_top5;
  if (report.test_miou) line["test_miou"] = *report.test_miou;
  if (!report.mode.empty()) line["mode"] = report.mode;
  for (const run::Residual& one : report.residuals) line["residuals"][one.name] = one.value;
  return line;
}

std::string RunFolder::write(const EpochReport& report) {
  if (!store_) return "";
  std::string note;
  try {
    if (tensorboard_) tensorboard_->write(scalars_of(report), report.step);
  } catch (const Failure& failure) {
    note = fmt::format("warning: {}; the run goes on without event files", failure.what());
    tensorboard_.reset();
  }
  metrics_ << metrics_of(report).dump() << std::endl;
  if (!metrics_) fail("{}: cannot write; is the disk full?", (path_ / "metrics.jsonl").string());
  return note;
}

}  // namespace plait::session
