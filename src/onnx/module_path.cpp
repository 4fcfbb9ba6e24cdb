// Reads the names that PyTorch's exporter gives to parameters and, since 1.13, to nodes.
#include "onnx/module_path.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace plait::onnx {

namespace {

constexpr std::size_t kLongestPath = 150;

bool is_path(std::string_view text) {
  const bool letters = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  return letters && !text.empty() && text.size() <= kLongestPath && text.front() != '.' &&
         text.back() != '.' && text.find("..") == std::string_view::npos && text != "input";
}

std::string of_parameter(std::string_view name) {
  constexpr std::array<std::string_view, 4> kEndings{".weight", ".bias", ".running_mean",
                                                     ".running_var"};
  for (const std::string_view ending : kEndings) {
    if (!name.ends_with(ending)) continue;
    const std::string_view path = name.substr(0, name.size() - ending.size());
    if (is_path(path)) return std::string(path);
  }
  return "";
}

/// A module in a Sequential repeats the name of its parent: "/layer1/layer1.0/conv1/Conv".
std::string of_scope(std::string_view name) {
  if (name.empty() || name.front() != '/') return "";
  std::vector<std::string_view> parts;
  name.remove_prefix(1);
  for (std::size_t end = name.find('/'); end != std::string_view::npos; end = name.find('/')) {
    const std::string_view part = name.substr(0, end);
    const bool repeats = !parts.empty() && part.size() > parts.back().size() &&
                         part.starts_with(parts.back()) && part[parts.back().size()] == '.';
    if (repeats) parts.pop_back();
    parts.push_back(part);
    name.remove_prefix(end + 1);
  }
  std::string path;
  for (const std::string_view part : parts) {
    if (!path.empty()) path += '.';
    path += part;
  }
  return is_path(path) ? path : "";
}

/// What plait's own exporter writes: "block.layer".
std::string of_own(std::string_view name) {
  return name.find('.') != std::string_view::npos && is_path(name) ? std::string(name) : "";
}

}  // namespace

std::string module_path(const onnx_graph::GraphNode& node, bool has_parameters) {
  for (std::size_t i = 1; has_parameters && i < node.inputs.size(); ++i) {
    if (std::string path = of_parameter(node.inputs[i]); !path.empty()) return path;
  }
  if (std::string path = of_scope(node.name); !path.empty()) return path;
  return of_own(node.name);
}

}  // namespace plait::onnx
