// IDX, the file format of MNIST and Fashion-MNIST: big-endian extents, then unsigned bytes. Files
// may be plain or gzip.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/bytes.hpp"
#include "data/memory.hpp"

namespace plait::data {

struct IdxArray {
  tensor::Shape shape;
  Bytes values;
};

/// UserError naming `name` unless the bytes are exactly one IDX array of unsigned bytes.
IdxArray parse_idx(ByteView bytes, const std::string& name);

struct IdxPair {
  std::filesystem::path images;
  std::filesystem::path labels;
  int classes = 10;
};

/// Images N x H x W become samples 1 x H x W.
std::shared_ptr<const MemoryDataset> read_idx(const IdxPair& pair);

/// The files of a split ("train" or "t10k") under any of their usual names (dash or dot, plain or
/// .gz); UserError telling what is missing and `how_to_get` it.
IdxPair find_idx(const std::filesystem::path& dir, const std::string& split,
                 const std::string& how_to_get);

}  // namespace plait::data
