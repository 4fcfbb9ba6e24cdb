#include "cli/out_place.hpp"

#include <filesystem>

#include "base/error.hpp"

namespace plait {

namespace fs = std::filesystem;

void check_place(const std::string& path, const std::string& flag) {
  const fs::path parent = fs::path(path).parent_path();
  std::error_code error;
  if (parent.empty() || fs::is_directory(parent, error)) return;
  user_error("{} {}: there is no folder {}; make it first", flag, path, parent.string());
}

void check_file_place(const std::string& path, const std::string& flag, const std::string& suffix) {
  check_place(path, flag);
  std::error_code error;
  if (fs::is_directory(path, error)) {
    user_error("{} {}: that is a folder; name a file in it", flag, path);
  }
  if (!path.ends_with(suffix)) {
    user_error("{} {}: only {} is written; call it {}{}", flag, path, suffix,
               fs::path(path).replace_extension("").string(), suffix);
  }
}

}  // namespace plait
