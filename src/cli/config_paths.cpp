// Finds the path inside settings such as npy:DIR, and resolves it against the folder that a run was
// started in.
#include "cli/config_paths.hpp"

#include <algorithm>
#include <array>

namespace plait::cli {

namespace {

namespace fs = std::filesystem;

struct Split {
  std::string kind;  ///< "cifar10:"
  std::string path;  ///< "" where the setting names no file
};

/// As the readers of these settings tell paths from other words.
Split split(std::string_view key, const std::string& value) {
  if (key == "init" || key == "profile" || (key == "plan" && value != "none"))
    return {.kind = "", .path = value};
  if (key == "partition") {
    const bool file = value.find('/') != std::string::npos || value.ends_with(".safetensors");
    return {.kind = "", .path = file ? value : ""};
  }
  if (key == "model" && value.ends_with(".toml")) return {.kind = "", .path = value};
  const std::size_t colon = value.find(':');
  if (colon == std::string::npos) return {};
  if (key == "model" && value.substr(0, colon) != "graphchallenge") return {};
  return {.kind = value.substr(0, colon + 1), .path = value.substr(colon + 1)};
}

std::string session::TrainConfig::*text_of(const Field& field) {
  return std::get<std::string session::TrainConfig::*>(field.member);
}

bool is_relative(const std::string& path) { return !path.empty() && fs::path(path).is_relative(); }

std::string spelled_out(std::string_view key, const std::string& value) {
  const Split parts = split(key, value);
  if (parts.path.empty()) return value;
  std::error_code error;
  return parts.kind + fs::absolute(parts.path, error).lexically_normal().string();
}

}  // namespace

bool names_files(const Field& field) {
  constexpr std::array<std::string_view, 6> keys{"model",     "data",    "init",
                                                 "partition", "profile", "plan"};
  return std::ranges::find(keys, field.key) != keys.end();
}

bool has_relative_paths(const session::TrainConfig& config) {
  return std::ranges::any_of(fields(), [&](const Field& field) {
    return names_files(field) && is_relative(split(field.key, config.*text_of(field)).path);
  });
}

void resolve_paths(session::TrainConfig& config, const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::equivalent(folder, fs::current_path(error), error)) return;
  for (const Field& field : fields()) {
    if (!names_files(field)) continue;
    std::string& value = config.*text_of(field);
    const Split parts = split(field.key, value);
    if (!is_relative(parts.path) || !fs::exists(folder / parts.path, error)) continue;
    value = parts.kind + (folder / parts.path).lexically_normal().string();
  }
}

bool same_files(const Field& field, const session::TrainConfig& a, const session::TrainConfig& b) {
  if (equal_in(field, a, b)) return true;
  return names_files(field) &&
         spelled_out(field.key, a.*text_of(field)) == spelled_out(field.key, b.*text_of(field));
}

}  // namespace plait::cli
