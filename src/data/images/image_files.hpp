// ImageFiles: encoded images by number, from a folder or out of an archive, and their arrangement
// as training and test images of named classes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/bytes.hpp"

namespace plait::data {

/// read() may be called from several threads at once.
class ImageFiles {
 public:
  virtual ~ImageFiles() = default;

  /// With '/' between folders, relative to the root.
  const std::vector<std::string>& names() const { return names_; }
  /// For messages.
  virtual std::string full_name(std::size_t number) const = 0;
  virtual Bytes read(std::size_t number) const = 0;
  /// That all of them take in memory.
  virtual std::int64_t held_bytes() const { return 0; }

 protected:
  std::vector<std::string> names_;  ///< sorted
};

/// All .jpg, .jpeg and .png below a folder, hidden ones aside. UserError where there is none.
std::shared_ptr<const ImageFiles> images_in_folder(const std::filesystem::path& folder);

/// The same in a tar archive, plain or compressed (gzip, zstd, xz, bzip2), which is read once and
/// held in memory as it is: UserError where it takes more than `limit` bytes.
std::shared_ptr<const ImageFiles> images_in_archive(const std::filesystem::path& file,
                                                    std::int64_t limit);

/// Whether files with such a name are read.
bool has_image_name(const std::string& name);

struct LabelledImage {
  std::size_t number = 0;  ///< of ImageFiles
  int label = 0;
};

struct ImageSplits {
  std::vector<std::string> classes;  ///< sorted: the number of a class is its place
  std::vector<LabelledImage> train;  ///< classes mixed, in an order that names decide
  std::vector<LabelledImage> test;
};

/// train/CLASS/... and test/CLASS/... (or val, valid, validation), below folders that all share;
/// without folders of that name CLASS/..., of which a tenth, chosen by name, is for the test.
/// `place` is for messages.
ImageSplits arrange_images(const std::vector<std::string>& names, const std::string& place);

}  // namespace plait::data
