// Profiles from JSON. Everything read from a file is checked against a limit before it is used.
#include "cost/profile_file.hpp"

#include <nlohmann/json.hpp>

#include <set>

#include "base/error.hpp"
#include "cost/text_file.hpp"
#include "tensor/shape.hpp"

namespace plait::cost {

namespace {

using nlohmann::json;

constexpr int kMaxDepth = 8;
constexpr double kMaxFactor = 1e6;
constexpr double kMaxRate = 1e18;
constexpr std::int64_t kMaxWorkers = std::int64_t{1} << 20;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;
constexpr std::int64_t kMaxClasses = std::int64_t{1} << 24;
constexpr std::size_t kMaxBlocks = 100'000;
constexpr std::size_t kMaxPoints = 1000;
constexpr std::size_t kMaxText = 4096;

json parse_json(std::string_view text, const std::string& source) {
  if (text.find('\0') != std::string_view::npos) {  // the library would stop reading there
    user_error("{}: contains a zero byte; the file is damaged", source);
  }
  const auto watch = [&](int depth, json::parse_event_t, json&) {
    if (depth > kMaxDepth) user_error("{}: nested deeper than {} levels", source, kMaxDepth);
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error& error) {
    user_error("{}: not valid JSON at byte {}; the file is damaged or not a profile", source,
               error.byte);
  } catch (const json::exception&) {
    user_error("{}: contains a number out of range; the file is damaged", source);
  }
}

/// An object of the file. `where` says which, for messages: "", "points[2]: ", ...
class Object {
 public:
  Object(const json& value, std::string where, const std::string& source)
      : value_(value), where_(std::move(where)), source_(source) {
    if (!value.is_object()) user_error("{}: {}a JSON object is expected here", source, where_);
  }

  bool has(const char* key) const { return value_.contains(key); }
  std::string place(const std::string& more) const { return where_ + more + ": "; }

  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) refuse(key, "a text");
    std::string text = value.get<std::string>();
    if (text.size() > kMaxText) refuse(key, "a short text");
    return text;
  }
  double number(const char* key, double max) const {
    const json& value = at(key);
    if (!value.is_number()) refuse(key, "a number");
    const auto number = value.get<double>();
    if (!(number >= 0 && number <= max)) {
      user_error("{}: {}{} is {}; it must be in 0 to {:g}", source_, where_, key, number, max);
    }
    return number;
  }
  double milliseconds(const char* key) const { return number(key, kMaxMilliseconds); }
  std::int64_t count(const char* key, std::int64_t min, std::int64_t max) const {
    const json& value = at(key);
    if (!value.is_number_integer()) refuse(key, "a whole number");
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62) {
      user_error("{}: {}{} is {}; it must be in {} to {}", source_, where_, key,
                 value.get<std::uint64_t>(), min, max);
    }
    const auto count = value.get<std::int64_t>();
    if (count < min || count > max) {
      user_error("{}: {}{} is {}; it must be in {} to {}", source_, where_, key, count, min, max);
    }
    return count;
  }
  const json& list(const char* key, std::size_t max) const {
    const json& value = at(key);
    if (!value.is_array()) refuse(key, "a list");
    if (value.size() > max) {
      user_error("{}: {}{} has {} entries; at most {} are supported", source_, where_, key,
                 value.size(), max);
    }
    return value;
  }
  const json& at(const char* key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) {
      user_error("{}: {}the key '{}' is missing; was this file written by plait profile?", source_,
                 where_, key);
    }
    return *found;
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* wanted) const {
    user_error("{}: {}the key '{}' is not {}", source_, where_, key, wanted);
  }

  const json& value_;
  std::string where_;
  const std::string& source_;
};

ProfileBlock read_block(const Object& object) {
  ProfileBlock block;
  block.name = object.text("name");
  block.forward_ms = object.milliseconds("forward_ms");
  block.backward_data_ms = object.milliseconds("backward_data_ms");
  block.backward_weights_ms = object.milliseconds("backward_weights_ms");
  if (object.has("update_ms")) block.update_ms = object.milliseconds("update_ms");
  if (object.has("macs")) block.macs = object.count("macs", 0, kMaxCount);
  if (object.has("parameters")) block.parameters = object.count("parameters", 0, kMaxCount);
  if (object.has("dst_bytes")) block.dst_bytes = object.count("dst_bytes", 0, kMaxCount);
  return block;
}

std::vector<ProfileBlock> read_blocks(const Object& object, const char* key,
                                      const std::string& source) {
  const json& list = object.list(key, kMaxBlocks);
  std::vector<ProfileBlock> blocks;
  blocks.reserve(list.size());
  for (const json& block : list) {
    const std::string place = fmt::format("{}[{}]", key, blocks.size());
    blocks.push_back(read_block(Object(block, object.place(place), source)));
  }
  return blocks;
}

ProfilePoint read_point(const Object& object, const std::string& source) {
  ProfilePoint point;
  point.batch = object.count("batch", 1, kMaxBatch);
  point.blocks = read_blocks(object, "blocks", source);
  if (point.blocks.empty()) user_error("{}: {}no blocks", source, object.place("blocks"));
  if (object.has("added")) point.added = read_blocks(object, "added", source);
  point.loss_ms = object.milliseconds("loss_ms");
  point.step_ms = object.milliseconds("step_ms");
  if (object.has("load_ms")) point.load_ms = object.milliseconds("load_ms");
  return point;
}

/// Every point measures the same blocks, each at another batch size.
void check_points(const ProfileFile& profile) {
  std::set<std::int64_t> batches;
  const ProfilePoint& main = profile.points.front();
  for (const ProfilePoint& point : profile.points) {
    if (!batches.insert(point.batch).second) {
      user_error("{}: batch {} occurs twice", profile.source, point.batch);
    }
    for (const auto list : {&ProfilePoint::blocks, &ProfilePoint::added}) {
      const std::vector<ProfileBlock>& here = point.*list;
      const std::vector<ProfileBlock>& there = main.*list;
      if (here.size() != there.size()) {
        user_error("{}: {} blocks at batch {} but {} at batch {}", profile.source, here.size(),
                   point.batch, there.size(), main.batch);
      }
      for (std::size_t i = 0; i < there.size(); ++i) {
        if (here[i].name == there[i].name) continue;
        user_error("{}: block {} is {} at batch {} but {} at batch {}", profile.source, i,
                   in_quotes(here[i].name), point.batch, in_quotes(there[i].name), main.batch);
      }
    }
  }
}

ProfileContention read_contention(const Object& object) {
  return {.workers = static_cast<int>(object.count("workers", 1, kMaxWorkers)),
          .factor = object.number("factor", kMaxFactor)};
}

std::string read_shape(const Object& object, const std::string& source) {
  std::string text = object.text("data_shape");
  try {
    if (!text.empty()) tensor::parse_shape(text);
  } catch (const UserError&) {
    user_error("{}: data_shape is {}; a shape such as 3x32x32 is expected", source,
               in_quotes(text));
  }
  return text;
}

}  // namespace

ProfileFile parse_profile(std::string_view text, const std::string& source) {
  const json value = parse_json(text, source);
  const Object root(value, "", source);
  if (root.has("format") && root.text("format") != kProfileFormat) {
    user_error("{}: its format is {}; this plait reads {}", source, in_quotes(root.text("format")),
               kProfileFormat);
  }
  ProfileFile profile;
  profile.source = source;
  profile.model = root.text("model");
  if (root.has("network_hash")) profile.network_hash = root.text("network_hash");
  if (root.has("data_shape")) profile.data_shape = read_shape(root, source);
  if (root.has("classes"))
    profile.classes = static_cast<int>(root.count("classes", 0, kMaxClasses));
  profile.threads = static_cast<int>(root.count("threads", 1, kMaxWorkers));
  if (root.has("steps")) profile.steps = root.count("steps", 0, kMaxCount);
  profile.points.push_back(read_point(root, source));
  if (root.has("points")) {
    for (const json& point : root.list("points", kMaxPoints)) {
      const std::string place = fmt::format("points[{}]: ", profile.points.size() - 1);
      profile.points.push_back(read_point(Object(point, place, source), source));
    }
  }
  if (root.has("contention")) {
    profile.contention = read_contention(Object(root.at("contention"), "contention: ", source));
  }
  if (root.has("sum_bytes_per_second")) {
    profile.sum_bytes_per_second = root.number("sum_bytes_per_second", kMaxRate);
  }
  if (root.has("machine")) profile.machine = root.text("machine");
  if (root.has("measured")) profile.measured = root.text("measured");
  if (root.has("noise")) profile.noise = root.number("noise", kMaxFactor);
  check_points(profile);
  return profile;
}

ProfileFile read_profile(const std::string& path) {
  return parse_profile(read_text_file(path), path);
}

}  // namespace plait::cost
