// Follows torchvision's numbering of VGG's features and ResNet's layers. The other families have
// torchvision's names but for a few words.
#include "graph/torch_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/parameters.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

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

/// "dense1.2.norm1.weight" -> "features.denseblock1.denselayer2.norm1.weight".
std::string densenet_name(const std::string& name) {
  if (name.starts_with("classifier.")) return name;
  constexpr std::string_view dense = "dense";
  if (!name.starts_with(dense)) {
    const bool kept = !name.starts_with("stem.") && !name.starts_with("head.");
    return "features." + (kept ? name : name.substr(5));
  }
  const std::size_t dot = name.find('.');
  return fmt::format("features.denseblock{}.denselayer{}",
                     name.substr(dense.size(), dot - dense.size()), name.substr(dot + 1));
}

/// "features.3.expand1x1.conv.weight" -> "features.3.expand1x1.weight".
std::string squeezenet_name(const std::string& name) {
  const std::size_t layer = name.find(".conv.");
  return layer == std::string::npos ? name : name.substr(0, layer) + name.substr(layer + 5);
}

std::string same_name(const std::string& name) { return name; }

/// A family with torchvision's names of layers, recognised by the name of one of its blocks.
struct NamedFamily {
  std::string_view block;
  std::string (*theirs)(const std::string& ours);
};

constexpr std::array<NamedFamily, 5> kNamedFamilies{{
    {"dense1.1.conv2", densenet_name},
    {"features.3.expand1x1", squeezenet_name},
    {"inception3a.branch1", same_name},
    {"features.2.conv.1", same_name},     // mobilenet_v2
    {"features.2.0.block.1", same_name},  // efficientnet_b0
}};

const NamedFamily* named_family(const ModelSpec& model) {
  for (const NamedFamily& family : kNamedFamilies) {
    if (std::ranges::find(model.blocks, family.block, &BlockSpec::name) != model.blocks.end()) {
      return &family;
    }
  }
  return nullptr;
}

}  // namespace

std::map<std::string, std::string> torch_names(const ModelSpec& model) {
  const NamedFamily* family = named_family(model);
  const std::map<std::string, std::string> layers = layers_of(model);
  if (family == nullptr && layers.empty()) return {};
  const std::vector<tensor::Shape> borders = border_shapes(model);
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const ops::ParameterSpec& parameter :
         own_parameters(model.blocks[i], input_shapes(model, borders, i))) {
      const std::string ours = model.blocks[i].name + "." + parameter.name;
      if (family != nullptr) {
        names[ours] = family->theirs(ours);
        continue;
      }
      const std::size_t dot = ours.rfind('.');
      const auto layer = layers.find(ours.substr(0, dot));
      if (layer == layers.end()) return {};
      names[ours] = layer->second + ours.substr(dot);
    }
  }
  return names;
}

}  // namespace plait::graph
