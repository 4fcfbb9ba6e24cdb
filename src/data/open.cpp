// The kinds of data by name, how each is opened, and the decorators around it.
#include "data/open.hpp"

#include <fmt/ranges.h>

#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "data/augment.hpp"
#include "data/cifar.hpp"
#include "data/glyphs.hpp"
#include "data/ids.hpp"
#include "data/idx.hpp"
#include "data/images/open_images.hpp"
#include "data/npy.hpp"
#include "data/select.hpp"
#include "data/shapes.hpp"

namespace plait::data {

namespace {

constexpr std::int64_t kGlyphsTrain = 6000;
constexpr std::int64_t kGlyphsTest = 1000;
constexpr std::int64_t kShapesTrain = 2000;
constexpr std::int64_t kShapesTest = 400;
constexpr std::int64_t kMeasuredImages = 10000;  ///< decoding more takes too long

/// Splits as read, and how they are normalised.
struct Raw {
  DatasetPtr train;
  DatasetPtr test;
  /// Equal parts of a sample to measure on the training split; 0 is by the first extent.
  std::int64_t channels = 0;
  /// Instead of measuring.
  std::optional<ChannelStatistics> fixed{};
  std::int64_t measured = 0;  ///< on about so many samples; 0: on all
  std::vector<std::string> classes{};
  std::vector<std::string> notes{};
};

Raw open_glyphs(const DataOptions& options) {
  const auto draw = [&](GlyphSplit split, std::int64_t all, std::int64_t limit) {
    return draw_glyphs(
        {.seed = options.seed, .split = split, .count = limit > 0 ? std::min(all, limit) : all});
  };
  return {.train = draw(GlyphSplit::train, kGlyphsTrain, options.train_limit),
          .test = draw(GlyphSplit::test, kGlyphsTest, options.test_limit),
          // Drawn around middle grey: [0, 1] becomes [-1, 1]. Unit deviation would make plain SGD
          // at the usual rates diverge.
          .fixed = ChannelStatistics{.mean = {0.5F}, .deviation = {0.5F}}};
}

Raw open_shapes(const DataOptions& options) {
  const auto draw = [&](std::uint32_t split, std::int64_t all, std::int64_t limit) {
    return draw_shapes(
        {.seed = options.seed, .split = split, .count = limit > 0 ? std::min(all, limit) : all});
  };
  return {.train = draw(0, kShapesTrain, options.train_limit),
          .test = draw(1, kShapesTest, options.test_limit)};
}

Raw open_idx(const std::filesystem::path& dir, const std::string& how_to_get) {
  const IdxPair train = find_idx(dir, "train", how_to_get);
  const IdxPair test = find_idx(dir, "t10k", how_to_get);
  return {.train = read_idx(train), .test = read_idx(test)};
}

Raw open_cifar(const CifarFiles& files, CifarFormat format) {
  return {.train = read_cifar(files.train, format), .test = read_cifar(files.test, format)};
}

Raw open_npy(const std::filesystem::path& dir, const NpyOptions& options) {
  MemoryData train = read_npy_pair(dir, "train", options);
  MemoryData test = read_npy_pair(dir, "test", options);
  if ((train.classes == 0) != (test.classes == 0)) {
    user_error("{}: train_y.npy and test_y.npy must both be integers (classes) or both be floats",
               dir.string());
  }
  train.classes = test.classes = std::max(train.classes, test.classes);
  // Rows of bytes are flattened images: one scale for all, not one per pixel.
  const bool bytes = std::holds_alternative<std::vector<std::uint8_t>>(train.images);
  const std::int64_t channels = bytes && train.sample_shape.rank() == 1 ? 1 : 0;
  return {.train = std::make_shared<MemoryDataset>(std::move(train)),
          .test = std::make_shared<MemoryDataset>(std::move(test)),
          .channels = channels};
}

/// Limited while they are opened: others need not be decoded.
Raw open_image_files(const std::filesystem::path& path, const DataOptions& options) {
  OpenedImages opened = open_images(path, options);
  return {.train = opened.train,
          .test = opened.test,
          .measured = kMeasuredImages,
          .classes = std::move(opened.classes),
          .notes = std::move(opened.notes)};
}

Raw open_kind(const DataKind& kind, const std::filesystem::path& dir, const DataOptions& options) {
  if (kind.name == "glyphs") return open_glyphs(options);
  if (kind.name == "shapes") return open_shapes(options);
  if (kind.name == "cifar10") return open_cifar(find_cifar10(dir), kCifar10);
  if (kind.name == "cifar100") return open_cifar(find_cifar100(dir), kCifar100);
  if (kind.name == "images") return open_image_files(dir, options);
  if (kind.name == "npy") {
    return open_npy(
        dir,
        {.ignored = options.ignore_label, .inputs = options.input, .sequences = options.sequences});
  }
  return open_idx(dir, kind.how_to_get);
}

DataKind find_kind(const std::string& name, const std::string& spec) {
  std::vector<std::string> names;
  std::vector<std::string> usages;
  for (DataKind& kind : data_kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
    usages.push_back(kind.usage);
  }
  user_error("data '{}': unknown kind '{}'{}; there are: {}", spec, name, did_you_mean(name, names),
             fmt::join(usages, ", "));
}

void check_folder(const DataKind& kind, const std::string& dir) {
  if (kind.name == "glyphs" || kind.name == "shapes") {
    if (!dir.empty()) user_error("data '{0}:{1}': {0} need no folder; write {0}", kind.name, dir);
    return;
  }
  if (dir.empty()) user_error("data '{}' needs a folder: write {}", kind.name, kind.usage);
  std::error_code error;
  if (kind.name == "images" && std::filesystem::is_regular_file(dir, error)) return;
  if (!std::filesystem::is_directory(dir, error)) {
    user_error("data '{}:{}': there is no folder {}; {}", kind.name, dir, dir, kind.how_to_get);
  }
}

/// On about so many samples all over the data; 0: on all.
ChannelStatistics measured(const DatasetPtr& train, std::int64_t channels, std::int64_t wanted) {
  const std::int64_t every = wanted > 0 ? (train->size() + wanted - 1) / wanted : 1;
  if (every <= 1) return measure_channels(*train, channels);
  return measure_channels(Shard(train, 0, static_cast<int>(every)), channels);
}

DatasetPtr limit(DatasetPtr dataset, std::int64_t count) {
  return count > 0 ? std::make_shared<Subset>(std::move(dataset), count) : dataset;
}

}  // namespace

std::vector<DataKind> data_kinds() {
  return {
      {"glyphs", "glyphs", "drawn digits, 1x28x28, 10 classes, 6000 train and 1000 test",
       "built in, nothing to fetch"},
      {"shapes", "shapes",
       "discs, rectangles and triangles, 3x48x48, a label per pixel, 4 classes, 2000 train and 400 "
       "test",
       "built in, nothing to fetch"},
      {"mnist", "mnist:DIR", "handwritten digits, 1x28x28, 10 classes, IDX files",
       "get it with: plait data fetch mnist"},
      {"fashion-mnist", "fashion-mnist:DIR", "pieces of clothing, 1x28x28, 10 classes, IDX files",
       "download the four IDX files of Fashion-MNIST into it"},
      {"cifar10", "cifar10:DIR", "photographs, 3x32x32, 10 classes, binary version",
       "unpack cifar-10-binary.tar.gz from the CIFAR home page"},
      {"cifar100", "cifar100:DIR",
       "photographs, 3x32x32, 100 classes (fine labels), binary version",
       "unpack cifar-100-binary.tar.gz from the CIFAR home page"},
      {"images", "images:DIR|FILE.tar",
       "your own JPEG and PNG files in train/CLASS/ and test/CLASS/, in a folder or a tar archive "
       "(.gz, .zst)",
       "put images into folders with the names of their classes"},
      {"npy", "npy:DIR",
       "your own arrays: train_x.npy, train_y.npy, test_x.npy, test_y.npy; x are features NxF, "
       "grey "
       "images NxHxW, images NxCxHxW, or what the model file says: sequences NxCxL (input = [C, "
       "L]), "
       "token ids (input_type = \"int32\"); integers N or NxHxW in y are labels of samples or "
       "pixels",
       "write the four files with numpy.save"},
  };
}

Splits open_data(const std::string& spec, const DataOptions& options) {
  if (options.train_limit < 0 || options.test_limit < 0) {
    user_error("data limits {} and {}: must not be negative", options.train_limit,
               options.test_limit);
  }
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const DataKind kind = find_kind(spec.substr(0, colon), spec);
  const std::string dir = colon < spec.size() ? spec.substr(colon + 1) : "";
  check_folder(kind, dir);
  if (options.input == tensor::DType::i32 && kind.name != "npy") {
    user_error(
        "data '{}': has images, but the model reads token ids (input_type = \"int32\"); use "
        "npy:DIR with arrays of integers",
        spec);
  }

  const Raw raw = open_kind(kind, dir, options);
  if (raw.train->sample_shape() != raw.test->sample_shape() ||
      raw.train->target_shape() != raw.test->target_shape()) {
    user_error("data '{}': train samples are {} -> {}, test samples {} -> {}; they must agree",
               spec, raw.train->sample_shape(), raw.train->target_shape(), raw.test->sample_shape(),
               raw.test->target_shape());
  }
  Splits splits{.train = limit(raw.train, options.train_limit),
                .test = limit(raw.test, options.test_limit),
                .classes = raw.classes,
                .notes = raw.notes};
  if (options.normalise && !holds_ids(*splits.train)) {
    splits.statistics = raw.fixed ? *raw.fixed : measured(splits.train, raw.channels, raw.measured);
    splits.train = std::make_shared<Normalise>(splits.train, splits.statistics);
    splits.test = std::make_shared<Normalise>(splits.test, splits.statistics);
  }
  const Augmentation& augmentation = options.augmentation;
  if (augmentation.resized_crop > 0 && kind.name != "images") {
    user_error("augmentation random-resized-crop is for images of files, not for data '{}'", spec);
  }
  if (augmentation.pad_crop > 0) {
    splits.train = std::make_shared<PadCrop>(splits.train, augmentation.pad_crop, options.seed);
  }
  if (augmentation.flip) splits.train = std::make_shared<Flip>(splits.train, options.seed);
  return splits;
}

}  // namespace plait::data
