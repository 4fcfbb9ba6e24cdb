// Reads fields of JSON that may be anything; every refusal names the file and the field.
#include "plan/json_fields.hpp"

#include <cmath>

#include "base/error.hpp"

namespace plait::plan {

namespace {

constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostShown = 40;

}  // namespace

void JsonField::refuse(std::string_view what) const {
  user_error("{}: {}{}{}", place_, path_, path_.empty() ? "" : " ", what);
}

void JsonField::unknown(const std::string& word, const std::string& names) const {
  refuse(
      fmt::format("is '{}', which is not known; there are: {}", word.substr(0, kMostShown), names));
}

/// The value as it stands there, if it is short.
std::string JsonField::shown() const {
  if (json_.is_structured()) return std::string(json_.is_array() ? "a list" : "an object");
  std::string text = json_.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  return text;
}

bool JsonField::has(const char* key) const {
  if (!json_.is_object()) refuse("must be an object, and is " + shown());
  return json_.contains(key);
}

JsonField JsonField::at(const char* key) const {
  std::string path = path_.empty() ? key : path_ + "." + key;
  if (!has(key)) JsonField(json_, place_, std::move(path)).refuse("is missing");
  return {json_.at(key), place_, std::move(path)};
}

void JsonField::check_list(std::size_t most) const {
  if (!json_.is_array()) refuse("must be a list, and is " + shown());
  if (json_.size() > most) {
    refuse(fmt::format("has {} entries; at most {} are possible", json_.size(), most));
  }
}

JsonField JsonField::entry(std::size_t i) const {
  return {json_[i], place_, fmt::format("{}[{}]", path_, i)};
}

std::vector<JsonField> JsonField::list(std::size_t most) const {
  check_list(most);
  std::vector<JsonField> fields;
  fields.reserve(json_.size());
  for (std::size_t i = 0; i < json_.size(); ++i) fields.push_back(entry(i));
  return fields;
}

namespace {

bool is_within(const Json& json, const Limits& limits) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return false;
  const auto number = json.get<std::int64_t>();
  return number >= limits.least && number <= limits.most;
}

}  // namespace

std::int64_t JsonField::number(const Limits& limits) const {
  if (!is_within(json_, limits)) {
    refuse(fmt::format("must be a whole number from {} to {}, and is {}", limits.least, limits.most,
                       shown()));
  }
  return json_.get<std::int64_t>();
}

std::vector<std::int64_t> JsonField::numbers(std::size_t most, const Limits& limits) const {
  check_list(most);
  std::vector<std::int64_t> numbers;
  numbers.reserve(json_.size());
  for (std::size_t i = 0; i < json_.size(); ++i) {  // long ones: names are for wrong entries only
    if (!is_within(json_[i], limits)) return {entry(i).number(limits)};
    numbers.push_back(json_[i].get<std::int64_t>());
  }
  return numbers;
}

double JsonField::real(double least, double most) const {
  const double value = json_.is_number() ? json_.get<double>() : NAN;
  if (!(value >= least && value <= most)) {
    refuse(fmt::format("must be a number from {} to {}, and is {}", least, most, shown()));
  }
  return value;
}

bool JsonField::flag() const {
  if (!json_.is_boolean()) refuse("must be true or false, and is " + shown());
  return json_.get<bool>();
}

std::string JsonField::text() const {
  if (!json_.is_string()) refuse("must be a text, and is " + shown());
  const auto& text = json_.get_ref<const std::string&>();
  if (text.size() > kMostText) refuse(fmt::format("has {} characters", text.size()));
  return text;
}

}  // namespace plait::plan
