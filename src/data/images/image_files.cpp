// Names of images, and images in folders.
#include "data/images/image_files.hpp"

#include <algorithm>
#include <cctype>

#include "base/error.hpp"

namespace plait::data {

namespace {

class FolderImages final : public ImageFiles {
 public:
  explicit FolderImages(const std::filesystem::path& folder) : folder_(folder) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::recursive_directory_iterator at(folder, fs::directory_options::follow_directory_symlink,
                                        error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const bool hidden = at->path().filename().string().starts_with('.');
      std::error_code ignored;
      if (hidden && at->is_directory(ignored)) at.disable_recursion_pending();
      if (hidden || !has_image_name(at->path().string()) || !at->is_regular_file(ignored)) continue;
      names_.push_back(at->path().lexically_relative(folder).generic_string());
    }
    if (error) user_error("{}: cannot be read: {}", folder.string(), error.message());
    std::ranges::sort(names_);
  }

  std::string full_name(std::size_t number) const override {
    return (folder_ / names_[number]).string();
  }
  Bytes read(std::size_t number) const override { return read_file(folder_ / names_[number]); }

 private:
  std::filesystem::path folder_;
};

}  // namespace

bool has_image_name(const std::string& name) {
  std::string suffix = std::filesystem::path(name).extension().string();
  std::ranges::transform(suffix, suffix.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png";
}

std::shared_ptr<const ImageFiles> images_in_folder(const std::filesystem::path& folder) {
  auto files = std::make_shared<FolderImages>(folder);
  if (files->names().empty()) {
    user_error("{}: no .jpg, .jpeg or .png below it; images lie in train/CLASS/ and test/CLASS/",
               folder.string());
  }
  return files;
}

}  // namespace plait::data
