// Values of NPY files as images, labels or regression targets. The header's grammar is in
// npy_header.cpp.
#include "data/npy.hpp"

#include <bit>
#include <cmath>
#include <cstring>

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

template <class T>
std::vector<float> to_labels(ByteView values, const std::string& name) {
  std::vector<float> out(values.size() / sizeof(T));
  for_each<T>(values, [&](std::size_t i, T value) {
    if (std::cmp_less(value, 0) || std::cmp_greater(value, kMaxLabel)) {
      user_error("{}: label {} at position {}; expected 0 to {}", name, std::int64_t(value), i,
                 kMaxLabel);
    }
    out[i] = static_cast<float>(value);
  });
  return out;
}

std::vector<float> labels_of(const std::string& descr, ByteView values, const std::string& name) {
  const bool is_signed = descr[1] == 'i';
  switch (descr[2]) {
    case '1':
      return is_signed ? to_labels<std::int8_t>(values, name)
                       : to_labels<std::uint8_t>(values, name);
    case '2':
      return is_signed ? to_labels<std::int16_t>(values, name)
                       : to_labels<std::uint16_t>(values, name);
    case '4':
      return is_signed ? to_labels<std::int32_t>(values, name)
                       : to_labels<std::uint32_t>(values, name);
    default:
      return is_signed ? to_labels<std::int64_t>(values, name)
                       : to_labels<std::uint64_t>(values, name);
  }
}

}  // namespace

NpyInputs parse_npy_inputs(ByteView bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  const ByteView values = bytes.subspan(header.size);
  if (header.shape.rank() < 2 || header.shape.rank() > 4) {
    user_error("{}: inputs of shape {}; expected rank 2 (features), 3 (grey images) or 4 (N,C,H,W)",
               name, header.shape);
  }
  if (header.descr == "|u1" || header.descr == "<u1") {
    return {header.shape, Bytes(values.begin(), values.end())};
  }
  if (header.descr == "<f4") return {header.shape, to_floats<float>(values, name)};
  if (header.descr == "<f8") return {header.shape, to_floats<double>(values, name)};
  user_error("{}: inputs of type {}; expected u1, f4 or f8", name, header.descr);
}

NpyTargets parse_npy_targets(ByteView bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  const ByteView values = bytes.subspan(header.size);
  const std::size_t rank = header.shape.rank();
  if (header.descr[1] != 'f') {
    if (rank != 1) {
      user_error("{}: integer labels of shape {}; expected rank 1", name, header.shape);
    }
    return {header.shape, labels_of(header.descr, values, name), true};
  }
  if (rank != 1 && rank != 2) {
    user_error("{}: targets of shape {}; expected rank 1 or 2", name, header.shape);
  }
  if (header.descr == "<f4") return {header.shape, to_floats<float>(values, name), false};
  if (header.descr == "<f8") return {header.shape, to_floats<double>(values, name), false};
  user_error("{}: targets of type {}; expected integers, f4 or f8", name, header.descr);
}

MemoryData read_npy_pair(const std::filesystem::path& dir, const std::string& split) {
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
  NpyInputs x = parse_npy_inputs(read_file(x_path), x_path.string());
  NpyTargets y = parse_npy_targets(read_file(y_path), y_path.string());
  if (x.shape[0] != y.shape[0]) {
    user_error("{} holds {} samples, {} holds {} targets; they do not belong together",
               x_path.string(), x.shape[0], y_path.string(), y.shape[0]);
  }
  tensor::Shape sample = x.shape.without_front();
  if (sample.rank() == 2) sample = sample.with_front(1);
  tensor::Shape target = y.shape.rank() == 1 ? tensor::Shape{1} : y.shape.without_front();
  float largest = -1;
  if (y.are_labels) {
    for (const float label : y.values) largest = std::max(largest, label);
  }
  return {.sample_shape = std::move(sample),
          .images = std::move(x.values),
          .target_shape = std::move(target),
          .targets = std::move(y.values),
          .classes = static_cast<int>(largest) + 1};
}

}  // namespace plait::data
