// Parses names such as vgg16 or mlp:512,256 and calls the builder of the family (zoo_*.cpp).
#include "graph/zoo.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "graph/check.hpp"
#include "graph/zoo_families.hpp"

namespace plait::graph {

namespace {

constexpr std::size_t kMaxHidden = 10'000;
constexpr std::int64_t kUnetWidth = 64;
constexpr int kMostUnetWidth = 4096;

template <std::size_t n>
bool among(int depth, const std::array<int, n>& depths) {
  return std::ranges::find(depths, depth) != depths.end();
}

/// "vgg16" with prefix "vgg" -> 16; nothing unless the rest is a plain number.
std::optional<int> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool plain = !name.empty() && name[0] >= '1' && name[0] <= '9';
  if (!plain || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::vector<std::int64_t> parse_widths(const std::string& name) {
  constexpr std::string_view how = "write hidden widths joined by -, for example mlp:512-256";
  std::vector<std::int64_t> widths;
  const char* at = name.data() + std::string_view("mlp:").size();
  const char* const end = name.data() + name.size();
  while (true) {
    std::int64_t width = 0;
    const auto [stop, error] = std::from_chars(at, end, width);
    if (error != std::errc() || width < 1 || width > ops::kMaxChannels) {
      user_error("model '{}': every width must be a number from 1 to 2^31; {}", name, how);
    }
    widths.push_back(width);
    if (widths.size() > kMaxHidden) user_error("model '{}': more than {} layers", name, kMaxHidden);
    if (stop == end) return widths;
    if (*stop != '-') user_error("model '{}': '{}' is not expected; {}", name, *stop, how);
    at = stop + 1;
  }
}

std::int64_t parse_unet_width(const std::string& name) {
  const auto width = number_after(name, "unet:");
  if (!width || *width > kMostUnetWidth) {
    user_error("model '{}': write the channels of the first level, 1 to {}, for example unet:16",
               name, kMostUnetWidth);
  }
  return *width;
}

[[noreturn]] void unknown(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const ZooEntry& entry : zoo_names()) {
    names.push_back(entry.name);
    list += (list.empty() ? "" : ", ") + entry.name;
  }
  const std::string shown = name.size() > 60 ? name.substr(0, 60) + "..." : name;
  user_error("unknown model '{}'{}; known are {}, graphchallenge:FOLDER and .toml files", shown,
             did_you_mean(shown, names), list);
}

ModelSpec build(const zoo::Task& task) {
  const std::string& name = task.name;
  if (name == "linear") return zoo::mlp(task, {});
  if (name == "mlp") return zoo::mlp(task, {512, 256});
  if (name.starts_with("mlp:")) return zoo::mlp(task, parse_widths(name));
  if (name == "lenet") return zoo::lenet(task);
  if (name == "unet") return zoo::unet(task, kUnetWidth);
  if (name.starts_with("unet:")) return zoo::unet(task, parse_unet_width(name));
  if (name == "densenet121") return zoo::densenet121(task);
  if (name == "googlenet") return zoo::googlenet(task);
  if (name == "squeezenet") return zoo::squeezenet(task);
  if (name == "mobilenet_v2") return zoo::mobilenet_v2(task);
  if (name == "efficientnet_b0") return zoo::efficientnet_b0(task);
  if (name.starts_with("graphchallenge:")) return zoo::graphchallenge(task, name.substr(15));
  if (name.starts_with("radixnet:")) return zoo::radixnet(task, name.substr(9));
  if (const auto depth = number_after(name, "vgg");
      depth && among(*depth, std::array{11, 13, 16, 19})) {
    return zoo::vgg(task, *depth);
  }
  if (const auto depth = number_after(name, "resnet")) {
    if (among(*depth, std::array{20, 32, 44, 56, 110})) return zoo::cifar_resnet(task, *depth);
    if (among(*depth, std::array{18, 34, 50})) return zoo::imagenet_resnet(task, *depth);
    if (among(*depth, std::array{164, 1001})) return zoo::preact_resnet(task, *depth);
  }
  if (const auto depth = number_after(name, "preresnet")) {
    if (*depth < 11 || *depth > 9002 || (*depth - 2) % 9 != 0) {
      user_error("model '{}': the depth must be 9n+2 from 11 to 9002, for example preresnet29",
                 name);
    }
    return zoo::preact_resnet(task, *depth);
  }
  unknown(name);
}

}  // namespace

std::vector<ZooEntry> zoo_names() {
  return {
      {"linear", "softmax regression"},
      {"mlp", "two hidden layers, 512 and 256, with ReLU"},
      {"mlp:512-256-128", "any hidden widths, with ReLU"},
      {"radixnet:1024x12", "sparse: 12 layers of 1024 neurons, 32 inputs each (GraphChallenge)"},
      {"lenet", "two 5x5 convolutions and two linear layers, for 28x28 or 32x32"},
      {"vgg11", "VGG with BatchNorm, 8 convolutions; a small head below 64 pixels"},
      {"vgg13", "VGG with BatchNorm, 10 convolutions"},
      {"vgg16", "VGG with BatchNorm, 13 convolutions"},
      {"vgg19", "VGG with BatchNorm, 16 convolutions"},
      {"resnet20", "CIFAR ResNet, 3 x 3 basic blocks, widths 16/32/64"},
      {"resnet32", "CIFAR ResNet, 3 x 5 basic blocks"},
      {"resnet44", "CIFAR ResNet, 3 x 7 basic blocks"},
      {"resnet56", "CIFAR ResNet, 3 x 9 basic blocks"},
      {"resnet110", "CIFAR ResNet, 3 x 18 basic blocks"},
      {"resnet18", "ImageNet ResNet, 8 basic blocks; a 3x3 stem below 64 pixels"},
      {"resnet34", "ImageNet ResNet, 16 basic blocks"},
      {"resnet50", "ImageNet ResNet, 16 bottlenecks"},
      {"preresnet29", "pre-activation ResNet, bottlenecks, any depth 9n+2"},
      {"resnet164", "pre-activation ResNet, 3 x 18 bottlenecks, widths 64/128/256"},
      {"resnet1001", "pre-activation ResNet, 3 x 111 bottlenecks"},
      {"densenet121", "DenseNet, 4 dense blocks; a 3x3 stem below 64 pixels, as in the next four"},
      {"googlenet", "GoogLeNet with BatchNorm, 9 inception modules, no auxiliary classifiers"},
      {"squeezenet", "SqueezeNet 1.0, 8 fire modules"},
      {"mobilenet_v2", "MobileNetV2, 17 inverted residuals"},
      {"efficientnet_b0", "EfficientNet-B0, squeeze and excitation, without stochastic depth"},
      {"unet", "U-Net with BatchNorm, widths 64 to 1024, a class for each pixel"},
      {"unet:16", "the same with any width of the first level"},
  };
}

ModelSpec make_model(const std::string& name, const tensor::Shape& input, int classes) {
  if (classes < 1) user_error("model '{}' needs at least 1 class but was given {}", name, classes);
  ModelSpec model = build({.name = name, .input = input, .classes = classes});
  check_model(model, fmt::format("model '{}'", name));
  return model;
}

}  // namespace plait::graph
