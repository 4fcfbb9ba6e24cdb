// NPY files (NumPy arrays, versions 1.0 and 2.0, little endian, C order) and pairs of them as
// datasets.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "data/bytes.hpp"
#include "data/memory.hpp"

namespace plait::data {

/// What the header of an NPY file says; `descr` is NumPy's word, for example "<f4" or "|u1".
struct NpyHeader {
  std::string descr;
  tensor::Shape shape;
  /// Bytes of the whole header: where the values begin.
  std::size_t size = 0;
};

/// UserError naming `name` on anything that is not a readable header followed by exactly its
/// values.
NpyHeader parse_npy_header(ByteView bytes, const std::string& name);

/// Values in C order: bytes for u1, floats for f4 and f8 (rounded; must stay finite); token ids.
struct NpyInputs {
  tensor::Shape shape;
  std::variant<Bytes, std::vector<float>, std::vector<std::int32_t>> values;
};

NpyInputs parse_npy_inputs(ByteView bytes, const std::string& name);
/// Token ids: integers of any size from 0 to 2^31 - 1, of rank 2 (or more: samples of any shape).
NpyInputs parse_npy_ids(ByteView bytes, const std::string& name);

/// Integers of rank 1 are class labels and those of rank 3 are labels of pixels, where -1 stands
/// for one that does not count. Floats of rank 1 or 2 are regression targets.
struct NpyTargets {
  tensor::Shape shape;
  std::vector<float> values;
  bool are_labels = false;
};

/// `ignored`: the label of pixels that do not count.
NpyTargets parse_npy_targets(ByteView bytes, const std::string& name, std::int64_t ignored = 255);

struct NpyOptions {
  std::int64_t ignored = 255;  ///< label of pixels that do not count
  /// f32, or i32: x holds token ids. Empty: it does where it holds integers of more than a byte.
  std::optional<tensor::DType> inputs{};
  bool sequences = false;  ///< real numbers N,C,L are sequences CxL, not grey images 1xCxL
};

/// One split: `dir`/`split`_x.npy and `dir`/`split`_y.npy. x: rank 2 (features), 3 (grey images,
/// or sequences) or 4 (channels first), or token ids. classes is the largest label + 1, or 0 for
/// regression.
MemoryData read_npy_pair(const std::filesystem::path& dir, const std::string& split,
                         const NpyOptions& options = {});

}  // namespace plait::data
