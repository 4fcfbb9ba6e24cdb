// state.json written and read. Reading is strict: unknown, missing and duplicate fields, other
// versions and a wrong hash of the text are refused.
#include "checkpoint/state.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "checkpoint/shown.hpp"

namespace plait::checkpoint {

namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr int kMaxDepth = 4;

std::string hash_of(const json& value) {
  Hash hash;
  hash.add(value.dump());
  return hash.hex();
}

json number_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json(*value) : json();
}

/// Refuses duplicate keys and deep nesting while the text is read.
json parse_json(std::string_view text, const std::string& source) {
  if (text.find('\0') != std::string_view::npos) {  // the library would stop reading there
    user_error("{}: holds a zero byte; the file is damaged", source);
  }
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kMaxDepth) user_error("{}: nested deeper than {} levels", source, kMaxDepth);
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key &&
        !keys.back().insert(value.get_ref<const std::string&>()).second) {
      user_error("{}: the key {} occurs twice", source, shown(value.get_ref<const std::string&>()));
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error& error) {
    user_error("{}: not valid JSON at byte {}; the file is damaged", source, error.byte);
  } catch (const json::exception&) {
    user_error("{}: holds a number out of range; the file is damaged", source);
  }
}

/// Takes the fields of an object one by one; what is left at the end is unknown.
class Fields {
 public:
  Fields(const json& object, const std::string& source) : source_(source) {
    if (!object.is_object()) user_error("{}: holds no JSON object where one belongs", source);
    for (const auto& [key, value] : object.items()) left_[key] = &value;
  }

  const json& take(const char* key) {
    const auto found = left_.find(key);
    if (found == left_.end()) user_error("{}: the key '{}' is missing", source_, key);
    const json& value = *found->second;
    left_.erase(found);
    return value;
  }
  std::uint64_t take_unsigned(const char* key) {
    const json& value = take(key);
    if (!value.is_number_unsigned()) refuse(key, "a whole number from 0");
    return value.get<std::uint64_t>();
  }
  std::int64_t take_count(const char* key) {
    const std::uint64_t value = take_unsigned(key);
    if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      refuse(key, "a whole number of 63 bits");
    }
    return static_cast<std::int64_t>(value);
  }
  std::optional<double> take_number_or_null(const char* key) {
    const json& value = take(key);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number_float()) refuse(key, "a number with a decimal point, or null");
    return value.get<double>();
  }
  std::string take_string(const char* key) {
    const json& value = take(key);
    if (!value.is_string()) refuse(key, "a string");
    return value.get<std::string>();
  }
  void check_nothing_left() const {
    if (!left_.empty()) user_error("{}: unknown key {}", source_, shown(left_.begin()->first));
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* wanted) const {
    user_error("{}: the key '{}' is not {}", source_, key, wanted);
  }

  const std::string& source_;
  std::map<std::string, const json*> left_;
};

}  // namespace

std::string print_state(const StateFile& file) {
  const RunState& state = file.state;
  json files = json::object();
  for (const auto& [name, record] : file.files) {
    files[name] = {{"bytes", record.bytes}, {"xxh3", record.xxh3}};
  }
  json root = {{"format", "plait-checkpoint"},
               {"version", kVersion},
               {"step", state.step},
               {"epoch", state.epoch},
               {"position", state.position},
               {"seed", state.seed},
               {"metric", number_or_null(state.metric)},
               {"best_metric", number_or_null(state.best_metric)},
               {"extra", json(state.extra)},
               {"config", state.config},
               {"files", std::move(files)}};
  try {
    root["xxh3"] = hash_of(root);
    return root.dump(1) + "\n";
  } catch (const json::exception&) {
    user_error(
        "the run's configuration or notes are not UTF-8 text; they cannot go into a checkpoint");
  }
}

StateFile parse_state(std::string_view text, const std::string& source) {
  json root = parse_json(text, source);
  StateFile file;
  {
    Fields fields(root, source);
    if (fields.take_string("format") != "plait-checkpoint") {
      user_error("{}: not the state of a plait checkpoint", source);
    }
    if (const std::int64_t version = fields.take_count("version"); version != kVersion) {
      user_error("{}: version {} of the format; this plait reads version {}", source, version,
                 kVersion);
    }
    RunState& state = file.state;
    state.step = fields.take_count("step");
    state.epoch = fields.take_count("epoch");
    state.position = fields.take_count("position");
    state.seed = fields.take_unsigned("seed");
    state.metric = fields.take_number_or_null("metric");
    state.best_metric = fields.take_number_or_null("best_metric");
    state.config = fields.take_string("config");
    const json& extra = fields.take("extra");
    Fields(extra, source);  // an object
    for (const auto& [key, value] : extra.items()) {
      if (!value.is_string()) user_error("{}: extra {} is not a string", source, shown(key));
      state.extra[key] = value.get<std::string>();
    }
    const json& files = fields.take("files");
    Fields(files, source);
    for (const auto& [name, record] : files.items()) {
      Fields of_record(record, source);
      file.files[name] = {of_record.take_unsigned("bytes"), of_record.take_string("xxh3")};
      of_record.check_nothing_left();
    }
    fields.take_string("xxh3");
    fields.check_nothing_left();
  }
  const std::string stated = root["xxh3"].get<std::string>();
  root.erase("xxh3");
  if (const std::string real = hash_of(root); real != stated) {
    user_error("{}: its hash is {} but it states {}; the file was damaged or changed by hand",
               source, real, shown(stated));
  }
  return file;
}

}  // namespace plait::checkpoint
