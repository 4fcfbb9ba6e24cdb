// Follows torchvision's numbering of VGG's features and ResNet's layers.
#include "model/torch_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "model/parameters.hpp"
#include "model/shapes.hpp"

namespace plait::model {

namespace {

/// "conv1_2", "pool3": of which everything but the head is made.
bool is_vgg_stage(const std::string& block) {
  const bool conv = block.size() == 7 && block.starts_with("conv") && block[5] == '_';
  const bool pool = block.size() == 5 && block.starts_with("pool");
  return conv || pool;
}

/// Every layer, relu and pool included, has a number in `features` up to flatten, and one in
/// `classifier` behind it. A head of one linear layer is `classifier` itself, as in the VGGs for
/// 32x32 images.
std::map<std::string, std::string> vgg_layers(const ModelSpec& model) {
  std::map<std::string, std::string> names;
  int feature = 0;
  int classifier = 0;
  const bool small_head = model.blocks.back().name == "fc";
  for (const BlockSpec& block : model.blocks) {
    for (const Node& node : block.nodes) {
      if (std::holds_alternative<ops::Flatten>(node.layer)) continue;
      const std::string theirs = is_vgg_stage(block.name) ? fmt::format("features.{}", feature++)
                                 : small_head             ? std::string("classifier")
                                              : fmt::format("classifier.{}", classifier++);
      names[block.name + "." + node.name] = theirs;
    }
  }
  return names;
}

/// What torchvision keeps outside of its layers is in the blocks stem and head.
std::map<std::string, std::string> resnet_layers(const ModelSpec& model) {
  std::map<std::string, std::string> names;
  for (const BlockSpec& block : model.blocks) {
    const bool outside = block.name == "stem" || block.name == "head";
    for (const Node& node : block.nodes) {
      const std::string ours = block.name + "." + node.name;
      names[ours] = outside ? node.name : ours;
    }
  }
  return names;
}

std::map<std::string, std::string> layers_of(const ModelSpec& model) {
  if (model.blocks.size() < 3) return {};
  const std::string& first = model.blocks.front().name;
  const std::string& last = model.blocks.back().name;
  if (first == "conv1_1" && (last == "fc" || last == "fc3")) {
    const auto known = [](const BlockSpec& block) {
      return is_vgg_stage(block.name) || block.name.starts_with("fc");
    };
    if (std::ranges::all_of(model.blocks, known)) return vgg_layers(model);
  }
  // The pre-activation ones also begin with "stem", but are not torchvision's.
  const auto& stem = model.blocks.front().nodes;
  if (first == "stem" && last == "head" && stem.size() == 3 && stem[0].name == "conv1" &&
      stem[1].name == "bn1") {
    return resnet_layers(model);
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> torch_names(const ModelSpec& model) {
  const std::map<std::string, std::string> layers = layers_of(model);
  if (layers.empty()) return {};
  const std::vector<tensor::Shape> borders = border_shapes(model);
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const ops::ParameterSpec& parameter :
         block_parameters(model.blocks[i], input_shapes(model, borders, i))) {
      const std::string ours = model.blocks[i].name + "." + parameter.name;
      const std::size_t dot = ours.rfind('.');
      const auto layer = layers.find(ours.substr(0, dot));
      if (layer == layers.end()) return {};
      names[ours] = layer->second + ours.substr(dot);
    }
  }
  return names;
}

}  // namespace plait::model
