// "images:PATH": a folder or an archive of images as training and test split.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/images/resample.hpp"
#include "data/open.hpp"

namespace plait::data {

struct OpenedImages {
  DatasetPtr train{};
  DatasetPtr test{};
  std::vector<std::string> classes{};
  std::vector<std::string> notes{};  ///< what was left out
};

OpenedImages open_images(const std::filesystem::path& path, const DataOptions& options);

/// Reads "224" and "320x240" (width x height); UserError on others.
ImageSize parse_image_size(const std::string& text);

}  // namespace plait::data
