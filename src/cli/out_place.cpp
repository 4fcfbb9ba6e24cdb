// Checks that the folder exists and can be written, and that nothing is in the way.
#include "cli/out_place.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/out_file.hpp"

namespace plait::cli {

namespace fs = std::filesystem;

namespace {

/// `path`: what is to be created. `shown`: what the user wrote.
void check_folder_of(const fs::path& path, const std::string& shown, const std::string& flag) {
  const fs::path folder = directory_of(path);
  std::error_code error;
  if (!fs::exists(folder, error)) {
    user_error("{} {}: there is no folder {}; make it first", flag, shown, folder.string());
  }
  if (!fs::is_directory(folder, error)) {
    user_error("{} {}: {} is not a folder; choose another", flag, shown, folder.string());
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    user_error("{} {}: cannot write to folder {}: {}; choose another", flag, shown, folder.string(),
               std::strerror(errno));
  }
}

}  // namespace

void check_file_place(const std::string& path, const std::string& flag, const std::string& suffix) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    user_error("{} {}: that is a folder; name a file in it", flag, path);
  }
  const OutTarget target = out_target(path);
  if (target.direct || target.standard >= 0) return;
  check_folder_of(target.path, path, flag);
  if (!path.ends_with(suffix)) {
    user_error("{} {}: only {} is written; call it {}{}", flag, path, suffix,
               fs::path(path).replace_extension("").string(), suffix);
  }
}

std::string check_new_folder(const std::string& path, const std::string& flag) {
  fs::path folder = path;
  if (!folder.has_filename()) folder = folder.parent_path();
  std::error_code error;
  if (fs::symlink_status(folder, error).type() != fs::file_type::not_found) {
    user_error("{} {}: exists already; choose another", flag, path);
  }
  check_folder_of(folder, path, flag);
  return folder.string();
}

}  // namespace plait::cli
