// Between the table of fields and the command line.
#include <algorithm>

#include "cli/fields.hpp"
#include "cli/flag_text.hpp"
#include "cli/verbs.hpp"

namespace plait::cli {

std::vector<Option> field_options(const std::vector<std::string_view>& keys) {
  const session::TrainConfig defaults;
  std::vector<Option> options;
  for (const Field& field : fields()) {
    if (!keys.empty() && std::ranges::find(keys, field.key) == keys.end()) continue;
    std::string standard = toml_of(defaults, field);
    std::erase(standard, '"');
    if (standard.ends_with(".0")) standard.resize(standard.size() - 2);
    options.push_back({.name = flag_of(field),
                       .value = std::string(field.value),
                       .help = with_flags(field.help),
                       .standard = std::move(standard),
                       .group = std::string(field.group)});
  }
  return options;
}

FlagValues field_flags(const Arguments& arguments) {
  FlagValues flags;
  for (const Field& field : fields()) {
    const std::string* value = arguments.find(flag_of(field));
    if (value != nullptr) flags.emplace(field.key, *value);
  }
  return flags;
}

}  // namespace plait::cli
