// Opens folder or archive, arranges the images and decodes them.
#include "data/images/open_images.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "data/images/image_dataset.hpp"

namespace plait::data {

namespace {

constexpr std::size_t kNamedBroken = 3;

int parse_side(std::string_view text, const std::string& whole) {
  int side = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
  if (error != std::errc() || end != text.data() + text.size() || side < 1 || side > 8192) {
    setting_error("image_size", whole, "is no size in pixels; write 224 or 320x240 (1 to 8192)");
  }
  return side;
}

ImageOptions image_options(const DataOptions& options) {
  const ImageFileOptions& images = options.images;
  ImageOptions all{.shorter = static_cast<int>(images.shorter),
                   .grey = images.grey,
                   .seed = options.seed,
                   .skip_broken = images.skip_broken,
                   .threads = images.threads};
  all.scale = !images.size.empty();
  if (all.scale) all.size = parse_image_size(images.size);
  if (images.shorter > 0 && images.size.empty()) {
    setting_error("image_resize", images.shorter, "needs `image_size`, what is cut out of it");
  }
  if (images.shorter > 0 && images.shorter < std::min(all.size.height, all.size.width)) {
    setting_error("image_resize", images.shorter,
                  "is less than `image_size` {}, which is cut out of it", images.size);
  }
  return all;
}

/// One line for all that was left out.
void note_broken(const ImageDataset& dataset, const char* split, std::vector<std::string>& notes) {
  const std::vector<std::string>& broken = dataset.broken();
  if (broken.empty()) return;
  std::string line = fmt::format("{} {} image(s) left out: ", broken.size(), split);
  for (std::size_t i = 0; i < std::min(broken.size(), kNamedBroken); ++i) {
    line += (i > 0 ? "; " : "") + broken[i];
  }
  if (broken.size() > kNamedBroken) line += "; ...";
  notes.push_back(line);
}

}  // namespace

ImageSize parse_image_size(const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) {
    const int side = parse_side(text, text);
    return {side, side};
  }
  const std::string_view all = text;
  return {.height = parse_side(all.substr(cross + 1), text),
          .width = parse_side(all.substr(0, cross), text)};
}

OpenedImages open_images(const std::filesystem::path& path, const DataOptions& options) {
  if (!std::filesystem::exists(path)) user_error("{}: no such folder or archive", path.string());
  ImageOptions each = image_options(options);
  const std::int64_t memory = options.images.memory;
  const bool is_folder = std::filesystem::is_directory(path);
  const auto files = is_folder ? images_in_folder(path) : images_in_archive(path, memory);
  ImageSplits splits = arrange_images(files->names(), path.string());

  OpenedImages opened{.classes = splits.classes};
  const auto classes = static_cast<int>(splits.classes.size());
  each.memory = options.images.decode_ahead ? memory - files->held_bytes() : 0;
  each.limit = options.train_limit;
  each.least_crop = options.augmentation.resized_crop;
  const auto train = std::make_shared<ImageDataset>(files, std::move(splits.train), classes, each);
  note_broken(*train, "training", opened.notes);
  each.memory -= train->held_bytes();
  each.limit = options.test_limit;
  each.least_crop = 0;
  each.size = train->image_size();
  const auto test = std::make_shared<ImageDataset>(files, std::move(splits.test), classes, each);
  note_broken(*test, "test", opened.notes);
  opened.train = train;
  opened.test = test;
  return opened;
}

}  // namespace plait::data
