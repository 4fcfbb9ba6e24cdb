// The door of the data room: a word such as "cifar10:DIR" becomes a train and a test split,
// limited, normalised and augmented as asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/normalise.hpp"

namespace plait::data {

/// What is done to training images anew in every epoch.
struct Augmentation {
  /// Zeros around the image before a random crop; 0 is off.
  std::int64_t pad_crop = 0;
  bool flip = false;
  /// A random part of the image, at least so much of its area, at the size of all; 0 is off.
  double resized_crop = 0;

  bool operator==(const Augmentation&) const = default;
};

/// Reads "pad-crop 4, flip" (also "pad-crop:4"; "" and "none" are off); UserError on other words.
Augmentation parse_augmentation(const std::string& text);
/// The text parse_augmentation reads back.
std::string to_string(const Augmentation& augmentation);

/// How images of files become samples.
struct ImageFileOptions {
  std::string size{};        ///< "224" or "320x240"; "": as they are
  std::int64_t shorter = 0;  ///< pixels of the shorter side, out of which `size` is cut; 0: it fits
  bool grey = false;
  bool skip_broken = false;                     ///< leave out images that cannot be decoded
  std::int64_t memory = std::int64_t{4} << 30;  ///< bytes for images in memory
  bool decode_ahead = true;                     ///< as many as memory takes; false: none
  int threads = 1;                              ///< that decode them at the beginning
};

struct DataOptions {
  std::uint64_t seed = 1;
  /// First samples only; 0 is all.
  std::int64_t train_limit = 0;
  std::int64_t test_limit = 0;
  bool normalise = true;  ///< images; token ids are as they are
  /// What the model reads: f32, or i32 for token ids. Empty: what the files hold.
  std::optional<tensor::DType> input{};
  /// Whether the model reads sequences CxL: arrays N,C,L of real numbers are such, not grey images.
  bool sequences = false;
  /// In files with a label for each pixel, of those that do not count.
  std::int64_t ignore_label = 255;
  /// For the training split only.
  Augmentation augmentation{};
  ImageFileOptions images{};
};

struct Splits {
  DatasetPtr train;
  DatasetPtr test;
  ChannelStatistics statistics{};      ///< that both are normalised with; empty where they are not
  std::vector<std::string> classes{};  ///< names, where the data has them
  std::vector<std::string> notes{};    ///< lines for the user: what was left out
};

/// UserError on an unknown kind, a missing folder or file, and damaged files.
Splits open_data(const std::string& spec, const DataOptions& options = {});

struct DataKind {
  std::string name;
  /// How it is written: "mnist:DIR".
  std::string usage;
  std::string description;
  /// One sentence, beginning in lower case: what to do to have it.
  std::string how_to_get;
};

/// In the order of a table for the user.
std::vector<DataKind> data_kinds();

}  // namespace plait::data
