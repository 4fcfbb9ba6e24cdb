// Reads config.toml, metrics.jsonl and report.json with limits on size and depth.
#include "report/run_files.hpp"

#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "report/record_check.hpp"

namespace plait::report {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kMostBytes = 256U << 20;
constexpr int kMostDepth = 64;

/// "" where there is none.
std::string read_text(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return "";
  check_input_file(file);
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) user_error("{}: {}", file.string(), error.message());
  if (size > kMostBytes) {
    user_error("{} has {} bytes; a report reads at most {}", file.string(), size, kMostBytes);
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    if (size == 0) return "";
    user_error("{}: cannot be read", file.string());
  }
  return text.str();
}

/// Of a line the page takes what it knows.
Json parse_epoch(const std::string& line, const std::string& where) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) user_error("{}: not a JSON object; correct or delete that line", where);
  Json epoch = Json::object();
  for (const char* key : {"epoch", "train_loss"}) {
    if (!json.contains(key) || !json[key].is_number()) {
      user_error("{}: no number '{}'; correct or delete that line", where, key);
    }
    epoch[key] = json[key];
  }
  for (const char* key : {"step", "test_loss", "test_accuracy", "test_top5", "test_miou",
                          "images_per_second", "seconds", "learning_rate"}) {
    if (!json.contains(key) || json[key].is_null()) continue;
    if (!json[key].is_number()) user_error("{}: '{}' is not a number", where, key);
    epoch[key] = json[key];
  }
  if (json.contains("mode")) {
    if (!json["mode"].is_primitive()) user_error("{}: 'mode' is not text", where);
    epoch["mode"] = json["mode"];
  }
  if (!json.contains("residuals")) return epoch;
  if (!json["residuals"].is_object()) user_error("{}: 'residuals' is not an object", where);
  for (const auto& [name, value] : json["residuals"].items()) {
    if (value.is_number()) epoch["residuals"][name] = value;
  }
  return epoch;
}

Json read_epochs(const fs::path& file) {
  Json epochs = Json::array();
  std::istringstream lines(read_text(file));
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool cut = lines.eof();
    if (line.empty() || (cut && !Json::accept(line))) continue;
    epochs.push_back(parse_epoch(line, fmt::format("{}:{}", file.string(), number)));
  }
  return epochs;
}

Json read_record(const fs::path& file) {
  const std::string text = read_text(file);
  if (text.empty()) return nullptr;
  const auto shallow = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kMostDepth) user_error("{} is damaged: it is nested too deeply", file.string());
    return true;
  };
  Json record = Json::parse(text, shallow, false);
  if (record.is_discarded()) {
    user_error(
        "{} is damaged: not valid JSON; delete it to get a page without timeline and breakdown",
        file.string());
  }
  check_record(record, file.string());
  return record;
}

}  // namespace

RunFiles read_run_files(const fs::path& folder, const Json* record) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    user_error("{}: there is no such folder; plait train makes them below runs/", folder.string());
  }
  RunFiles files{.config = read_text(folder / "config.toml"),
                 .epochs = read_epochs(folder / "metrics.jsonl"),
                 .record = record != nullptr ? *record : read_record(folder / "report.json")};
  if (files.config.empty()) {
    user_error("{} is not a run folder: it has no config.toml", folder.string());
  }
  return files;
}

}  // namespace plait::report
