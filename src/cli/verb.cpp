// Typed access to the arguments of a verb.
#include "cli/verb.hpp"

#include "cli/numbers.hpp"

namespace plait::cli {

const std::string* Arguments::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

bool Arguments::on(std::string_view name) const {
  const std::string* value = find(name);
  return value != nullptr && parse_boolean(*value, std::string(name));
}

std::string Arguments::text(std::string_view name, const std::string& otherwise) const {
  const std::string* value = find(name);
  return value == nullptr ? otherwise : *value;
}

std::int64_t Arguments::integer(const std::string& name, std::int64_t otherwise,
                                graph::Range range) const {
  const std::string* value = find(name);
  return value == nullptr ? otherwise : parse_integer(*value, name, range);
}

std::string verb_names(const Verb& verb) {
  std::string names;
  for (const Verb& child : verb.verbs) names += (names.empty() ? "" : ", ") + child.name;
  return names;
}

}  // namespace plait::cli
