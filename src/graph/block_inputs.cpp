// Looks names of blocks up, and says what a name that is none could have meant.
#include "graph/block_inputs.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plait::graph {

namespace {

/// How many copies of a repeated block there are.
int copies_of(const std::string& name, const FileContext& context) {
  int count = 0;
  while (context.blocks.contains(fmt::format("{}.{}", name, count))) ++count;
  return count;
}

[[noreturn]] void refuse_name(const std::string& name, const std::string& self,
                              const FileContext& context, const std::string& where) {
  const std::string shown = name.substr(0, 60);
  const auto named = context.names.find(name);
  if (named != context.names.end() && named->second && name != self) {
    if (const int copies = copies_of(name, context); copies > 0) {
      user_error("{}inputs: '{}' is repeated, its blocks are {}; write \"{}.{}\" for the last one",
                 where, shown,
                 copies == 1 ? shown + ".0" : fmt::format("{0}.0 to {0}.{1}", shown, copies - 1),
                 shown, copies - 1);
    }
  }
  if (named != context.names.end()) {
    user_error("{}inputs: '{}' is {}; a block reads earlier blocks only, there are no cycles",
               where, shown, name == self ? "the block itself" : "a later block");
  }
  std::vector<std::string> known{"input"};
  for (const auto& [block, index] : context.blocks) known.push_back(block);
  user_error("{}inputs: '{}' is neither an earlier block nor 'input'{}", where, shown,
             did_you_mean(shown, known));
}

}  // namespace

BlockInputs read_inputs(const TomlReader& reader, const std::string& self,
                        const FileContext& context) {
  BlockInputs inputs;
  const TomlValue* value = reader.find("inputs");
  if (value == nullptr) {
    context.splits.refuse_silent_reader(reader.place(reader.line()));
    return inputs;
  }
  const std::string where = reader.place(value->line);
  for (const TomlValue& one : reader.array("inputs")) {
    const std::string name = reader.text_of(one, "inputs");
    const auto same = context.names.find(name);
    if (name == "input" && same != context.names.end() && !same->second) {
      user_error("{}inputs: 'input' names the network's input; rename the block 'input'", where);
    }
    const auto found = context.blocks.find(name);
    const bool known_block = name == "input" || found != context.blocks.end();
    const std::optional<int> output =
        known_block ? std::nullopt : context.splits.output(name, where);
    if (!known_block && !output) refuse_name(name, self, context, where);
    if (std::ranges::find(inputs.names, name) != inputs.names.end()) {
      user_error("{}inputs names '{}' twice; its layers may read it more than once", where, name);
    }
    inputs.blocks.push_back(output ? *output : name == "input" ? kModelInput : found->second);
    inputs.names.push_back(name);
  }
  if (inputs.blocks.empty()) user_error("{}inputs is empty: a block reads something", where);
  return inputs;
}

}  // namespace plait::graph
