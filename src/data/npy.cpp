// Values of NPY files as images, labels or regression targets. The header's grammar is in
// npy_header.cpp.
#include "data/npy.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace plait::data {

namespace {

static_assert(std::endian::native == std::endian::little, "NPY values are copied as they lie");

/// Labels above this would not be exact in a float.
constexpr std::int64_t kMaxLabel = (1 << 24) - 1;

/// Calls use(position, value) for every element of type T.
template <class T, class Use>
void for_each(ByteView values, Use use) {
  for (std::size_t i = 0; i < values.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, values.data() + i * sizeof(T), sizeof(T));
    use(i, value);
  }
}

template <class T>
std::vector<float> to_floats(ByteView values, const std::string& name) {
  std::vector<float> out(values.size() / sizeof(T));
  for_each<T>(values, [&](std::size_t i, T value) {
    const auto limit = static_cast<T>(std::numeric_limits<float>::max());
    if (!(std::abs(value) <= limit)) {
      user_error("{}: value {} at position {} is not a finite float", name, value, i);
    }
    out[i] = static_cast<float>(value);
  });
  return out;
}

bool has_wide_integers(const NpyHeader& header) {
  return header.descr[1] != 'f' && header.descr[2] != '1';
}

/// use(T{}) with the type of a file's integers.
template <class Use>
auto with_integers(const std::string& descr, const Use& use) {
  const bool is_signed = descr[1] == 'i';
  switch (descr[2]) {
    case '1': return is_signed ? use(std::int8_t{}) : use(std::uint8_t{});
    case '2': return is_signed ? use(std::int16_t{}) : use(std::uint16_t{});
    case '4': return is_signed ? use(std::int32_t{}) : use(std::uint32_t{});
    default: return is_signed ? use(std::int64_t{}) : use(std::uint64_t{});
  }
}

/// Integers of a file as labels; a pixel's label that is ignored becomes -1.
struct LabelReader {
  ByteView values;
  const std::string& name;
  bool pixels;
  std::int64_t ignored;  ///< of pixels

  template <class T>
  std::vector<float> as() const {
    std::vector<float> out(values.size() / sizeof(T));
    for_each<T>(values, [&](std::size_t i, T value) {
      if (pixels && std::cmp_equal(value, ignored)) {
        out[i] = -1;
        return;
      }
      if (std::cmp_less(value, 0) || std::cmp_greater(value, kMaxLabel)) {
        user_error("{}: label {} at position {}; expected 0 to {}{}", name, std::int64_t(value), i,
                   kMaxLabel, pixels ? " or `ignore_label`" : "");
      }
      out[i] = static_cast<float>(value);
    });
    return out;
  }
  std::vector<float> all(const std::string& descr) const {
    return with_integers(descr, [&](auto type) { return as<decltype(type)>(); });
  }
};

/// The largest label + 1. Of pixels some must count.
int classes_of(const NpyTargets& targets, const std::string& name) {
  if (!targets.are_labels) return 0;
  float largest = -1;
  for (const float label : targets.values) largest = std::max(largest, label);
  if (largest < 0) user_error("{}: every pixel has the label that `ignore_label` names", name);
  return static_cast<int>(largest) + 1;
}

}  // namespace

NpyInputs parse_npy_inputs(ByteView bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  const ByteView values = bytes.subspan(header.size);
  if (header.shape.rank() < 2 || header.shape.rank() > 4) {
    user_error(
        "{}: inputs of shape {}; expected rank 2 (features), 3 (grey images or sequences) or 4 "
        "(N,C,H,W)",
        name, header.shape);
  }
  if (header.descr == "|u1" || header.descr == "<u1") {
    return {header.shape, Bytes(values.begin(), values.end())};
  }
  if (header.descr == "<f4") return {header.shape, to_floats<float>(values, name)};
  if (header.descr == "<f8") return {header.shape, to_floats<double>(values, name)};
  user_error("{}: inputs of type {}; expected u1, f4 or f8{}", name, header.descr,
             header.descr[1] == 'f' ? "" : " (a model with input_type = \"int32\" reads integers)");
}

NpyInputs parse_npy_ids(ByteView bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  if (header.descr[1] == 'f') {
    user_error("{}: inputs of type {}, but the model reads token ids: integers", name,
               header.descr);
  }
  if (header.shape.rank() < 2) {
    user_error("{}: token ids of shape {}; expected rank 2 (samples, positions)", name,
               header.shape);
  }
  const ByteView values = bytes.subspan(header.size);
  const auto each = static_cast<std::size_t>(header.shape.elements() / header.shape[0]);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(header.shape.elements()));
  with_integers(header.descr, [&](auto type) {
    for_each<decltype(type)>(values, [&](std::size_t i, auto value) {
      if (std::cmp_less(value, 0) || !std::in_range<std::int32_t>(value)) {
        user_error("{}: sample {} has the token id {} at position {}; expected 0 to 2^31 - 1", name,
                   i / each, value, i % each);
      }
      ids[i] = static_cast<std::int32_t>(value);
    });
  });
  return {header.shape, std::move(ids)};
}

NpyTargets parse_npy_targets(ByteView bytes, const std::string& name, std::int64_t ignored) {
  const NpyHeader header = parse_npy_header(bytes, name);
  const ByteView values = bytes.subspan(header.size);
  const std::size_t rank = header.shape.rank();
  if (header.descr[1] != 'f') {
    if (rank == 2) {
      user_error(
          "{}: integer labels of shape {}, one for each position of a sequence: there is no loss "
          "per position yet; labels are N, or N,H,W for pixels{}",
          name, header.shape,
          header.shape[1] == 1 ? " (save y[:, 0] for one label per sample)" : "");
    }
    if (rank != 1 && rank != 3) {
      user_error("{}: integer labels of shape {}; expected rank 1, or 3 (N,H,W) for pixels", name,
                 header.shape);
    }
    const LabelReader labels{values, name, rank == 3, ignored};
    return {header.shape, labels.all(header.descr), true};
  }
  if (rank != 1 && rank != 2) {
    user_error("{}: targets of shape {}; expected rank 1 or 2", name, header.shape);
  }
  if (header.descr == "<f4") return {header.shape, to_floats<float>(values, name), false};
  if (header.descr == "<f8") return {header.shape, to_floats<double>(values, name), false};
  user_error("{}: targets of type {}; expected integers, f4 or f8", name, header.descr);
}

MemoryData read_npy_pair(const std::filesystem::path& dir, const std::string& split,
                         const NpyOptions& options) {
  const auto x_path = dir / (split + "_x.npy");
  const auto y_path = dir / (split + "_y.npy");
  for (const auto& path : {x_path, y_path}) {
    if (!std::filesystem::exists(path)) {
      user_error(
          "{}: no such file; npy data are train_x.npy, train_y.npy, test_x.npy and test_y.npy,"
          " written with numpy.save",
          path.string());
    }
  }
  const Bytes x_bytes = read_file(x_path);
  const bool ids = options.inputs ? *options.inputs == tensor::DType::i32
                                  : has_wide_integers(parse_npy_header(x_bytes, x_path.string()));
  NpyInputs x =
      ids ? parse_npy_ids(x_bytes, x_path.string()) : parse_npy_inputs(x_bytes, x_path.string());
  NpyTargets y = parse_npy_targets(read_file(y_path), y_path.string(), options.ignored);
  if (x.shape[0] != y.shape[0]) {
    user_error("{} holds {} samples, {} holds {} targets; they do not belong together",
               x_path.string(), x.shape[0], y_path.string(), y.shape[0]);
  }
  tensor::Shape sample = x.shape.without_front();
  if (sample.rank() == 2 && !ids && !options.sequences) sample = sample.with_front(1);
  tensor::Shape target = y.shape.rank() == 1 ? tensor::Shape{1} : y.shape.without_front();
  if (target.rank() == 2 && (sample.rank() != 3 || !(sample.without_front() == target))) {
    user_error("{} has labels of {} pixels, {} has samples of {}; a label per pixel is needed",
               y_path.string(), target, x_path.string(), sample);
  }
  const int classes = classes_of(y, y_path.string());
  return {.sample_shape = std::move(sample),
          .images = std::move(x.values),
          .target_shape = std::move(target),
          .targets = std::move(y.values),
          .classes = classes};
}

}  // namespace plait::data
