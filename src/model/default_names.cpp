// Names such as conv1, bn2: a short word per kind of layer, numbered in a block where it occurs
// more than once.
#include "model/default_names.hpp"

#include <map>

namespace plait::model {

namespace {

std::string short_word(const LayerSpec& layer) {
  if (std::holds_alternative<ConvolutionSpec>(layer)) return "conv";
  if (std::holds_alternative<BatchNormSpec>(layer)) return "bn";
  if (std::holds_alternative<PoolSpec>(layer)) return "pool";
  if (std::holds_alternative<GlobalAveragePoolSpec>(layer)) return "pool";
  return std::string(kind_name(layer));
}

}  // namespace

std::vector<std::string> default_names(const std::vector<LayerSpec>& layers) {
  std::map<std::string, int> total;
  for (const LayerSpec& layer : layers) ++total[short_word(layer)];
  std::map<std::string, int> seen;
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const LayerSpec& layer : layers) {
    std::string word = short_word(layer);
    if (total[word] > 1) word += std::to_string(++seen[word]);
    names.push_back(std::move(word));
  }
  return names;
}

}  // namespace plait::model
