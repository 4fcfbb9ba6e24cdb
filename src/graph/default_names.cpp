// Names such as conv1, bn2: a short word per kind of layer, numbered in a block where it occurs
// more than once.
#include "graph/default_names.hpp"

#include <map>

#include "ops/table.hpp"

namespace plait::graph {

namespace {

std::string short_word(const ops::Operation& layer) {
  const ops::OperationInfo& info = ops::info_of(layer);
  return std::string(info.short_name.empty() ? info.name : info.short_name);
}

}  // namespace

std::vector<std::string> default_names(const std::vector<ops::Operation>& layers) {
  std::map<std::string, int> total;
  for (const ops::Operation& layer : layers) ++total[short_word(layer)];
  std::map<std::string, int> seen;
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const ops::Operation& layer : layers) {
    std::string word = short_word(layer);
    if (total[word] > 1) word += std::to_string(++seen[word]);
    names.push_back(std::move(word));
  }
  return names;
}

}  // namespace plait::graph
