// The IDX header and its checks, and the names under which the four files of a dataset may lie in a
// folder.
#include "data/idx.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plait::data {

namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kMaxRank = 4;

std::int64_t big_endian_u32(ByteView bytes) {
  return (std::int64_t{bytes[0]} << 24) | (std::int64_t{bytes[1]} << 16) |
         (std::int64_t{bytes[2]} << 8) | std::int64_t{bytes[3]};
}

std::filesystem::path find_any(const std::filesystem::path& dir, const std::string& stem,
                               const std::string& kind) {
  for (const char* joint : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      auto path = dir / (stem + joint + kind + ending);
      if (std::filesystem::exists(path)) return path;
    }
  }
  return {};
}

}  // namespace

IdxArray parse_idx(ByteView bytes, const std::string& name) {
  if (bytes.size() < 4) {
    user_error("{}: {} bytes, too short for an IDX file", name, bytes.size());
  }
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != kUnsignedByte) {
    user_error("{}: not an IDX file of unsigned bytes (begins {:02x} {:02x} {:02x}, not 00 00 08)",
               name, bytes[0], bytes[1], bytes[2]);
  }
  const std::size_t rank = bytes[3];
  if (rank < 1 || rank > kMaxRank) {
    user_error("{}: IDX array of rank {}; only ranks 1 to {} are supported", name, rank, kMaxRank);
  }
  const std::size_t header = 4 + 4 * rank;
  if (bytes.size() < header) {
    user_error("{}: {} bytes, cut off within the IDX header of {}", name, bytes.size(), header);
  }
  const auto present = static_cast<std::int64_t>(bytes.size() - header);
  std::vector<std::int64_t> dims;
  std::int64_t elements = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t dim = big_endian_u32(bytes.subspan(4 + 4 * axis, 4));
    if (dim < 1 || dim > present / elements) {
      user_error(
          "{}: IDX header declares extent {} on axis {}, the file holds {} values; it is damaged"
          " or cut off",
          name, dim, axis, present);
    }
    elements *= dim;
    dims.push_back(dim);
  }
  if (elements != present) {
    user_error("{}: IDX header declares {} values, the file holds {}", name, elements, present);
  }
  return {tensor::Shape(std::move(dims)),
          Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end())};
}

std::shared_ptr<const MemoryDataset> read_idx(const IdxPair& pair) {
  const std::string images_name = pair.images.string();
  const std::string labels_name = pair.labels.string();
  IdxArray images = parse_idx(read_content(pair.images), images_name);
  const IdxArray labels = parse_idx(read_content(pair.labels), labels_name);
  if (images.shape.rank() != 3) {
    user_error("{}: images of shape {}; expected rank 3 (count x height x width)", images_name,
               images.shape);
  }
  if (labels.shape.rank() != 1) {
    user_error("{}: labels of shape {}; expected rank 1", labels_name, labels.shape);
  }
  if (images.shape[0] != labels.shape[0]) {
    user_error("{} holds {} images, {} holds {} labels; they do not belong together", images_name,
               images.shape[0], labels_name, labels.shape[0]);
  }
  const auto bad = std::find_if(labels.values.begin(), labels.values.end(),
                                [&](std::uint8_t label) { return label >= pair.classes; });
  if (bad != labels.values.end()) {
    user_error("{}: label {} at position {}; expected 0 to {}", labels_name, *bad,
               bad - labels.values.begin(), pair.classes - 1);
  }
  return std::make_shared<MemoryDataset>(
      MemoryData{.sample_shape = {1, images.shape[1], images.shape[2]},
                 .images = std::move(images.values),
                 .target_shape = {1},
                 .targets = std::vector<float>(labels.values.begin(), labels.values.end()),
                 .classes = pair.classes});
}

IdxPair find_idx(const std::filesystem::path& dir, const std::string& split,
                 const std::string& how_to_get) {
  IdxPair pair{.images = find_any(dir, split + "-images", "idx3-ubyte"),
               .labels = find_any(dir, split + "-labels", "idx1-ubyte")};
  if (pair.images.empty()) {
    user_error("{}: no {}-images-idx3-ubyte (or .gz); {}", dir.string(), split, how_to_get);
  }
  if (pair.labels.empty()) {
    user_error("{}: no {}-labels-idx1-ubyte (or .gz); {}", dir.string(), split, how_to_get);
  }
  return pair;
}

}  // namespace plait::data
