// CIFAR-10 and CIFAR-100 in their binary layout: records of label byte(s) and 3 x 32 x 32 pixel
// bytes. A file may hold any number of whole records.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/bytes.hpp"
#include "data/memory.hpp"

namespace plait::data {

/// `labels` bytes precede the pixels of a record; the last of them is the class.
struct CifarFormat {
  int labels = 1;
  int classes = 10;
};

constexpr CifarFormat kCifar10{.labels = 1, .classes = 10};
/// Coarse label, then the fine label that is used.
constexpr CifarFormat kCifar100{.labels = 2, .classes = 100};

struct CifarRecords {
  Bytes pixels;
  std::vector<float> labels;
};

/// Appends the records of one file; UserError naming `name` on a broken size or label.
void parse_cifar(ByteView bytes, const std::string& name, CifarFormat format, CifarRecords& out);

struct CifarFiles {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;
};

/// The files under `dir` or under its usual sub-folder; UserError telling what is missing.
CifarFiles find_cifar10(const std::filesystem::path& dir);
CifarFiles find_cifar100(const std::filesystem::path& dir);

std::shared_ptr<const MemoryDataset> read_cifar(const std::vector<std::filesystem::path>& files,
                                                CifarFormat format);

}  // namespace plait::data
