// Each operator on sizes as a few lines of plain arithmetic. Numbers beyond 2^53 are not folded.
#include "onnx/sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace plait::onnx {

namespace {

constexpr std::size_t kMostSizes = 64;
constexpr double kMostSize = 9007199254740992.0;  // 2^53

using Values = std::vector<double>;

double computed(const std::string& op, double a, double b, bool real) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (b == 0) return std::numeric_limits<double>::infinity();
  return real ? a / b : std::trunc(a / b);
}

/// x + 0, x * 1 and x / 1 keep the number of samples.
bool is_neutral(const std::string& op, double b) {
  return b == (op == "Add" || op == "Sub" ? 0.0 : 1.0);
}

std::optional<Sizes> arithmetic(const std::string& op, const std::vector<Sizes>& inputs) {
  if (inputs.size() != 2) return {};
  const Values& a = inputs[0].values;
  const Values& b = inputs[1].values;
  const std::size_t count = std::max(a.size(), b.size());
  if (std::min(a.size(), b.size()) != 1 && a.size() != b.size()) return {};
  Sizes result{.values = {},
               .scalar = inputs[0].scalar && inputs[1].scalar,
               .real = inputs[0].real || inputs[1].real};
  for (std::size_t i = 0; i < count; ++i) {
    const double x = a[a.size() == 1 ? 0 : i];
    const double y = b[b.size() == 1 ? 0 : i];
    if (std::isnan(x) || std::isnan(y)) {
      if (!std::isnan(x) || !is_neutral(op, y)) return {};
      result.values.push_back(x);
      continue;
    }
    result.values.push_back(computed(op, x, y, result.real));
    if (!(std::abs(result.values.back()) <= kMostSize)) return {};
  }
  return result;
}

/// Where index `at` of `count` lies: negative ones count from the end. None outside.
std::optional<std::size_t> place(double at, std::size_t count) {
  const double index = at < 0 ? at + static_cast<double>(count) : at;
  if (!(index >= 0 && index < static_cast<double>(count))) return {};
  return static_cast<std::size_t>(index);
}

std::optional<Sizes> gather(const std::vector<Sizes>& inputs) {
  if (inputs.size() != 2) return {};
  Sizes result{.values = {}, .scalar = inputs[1].scalar, .real = inputs[0].real};
  for (const double at : inputs[1].values) {
    const auto index = place(at, inputs[0].values.size());
    if (!index) return {};
    result.values.push_back(inputs[0].values[*index]);
  }
  return result;
}

/// Rows start .. end of a matrix, or values of a list; in steps of 1 or -1.
std::optional<Sizes> slice(const std::vector<Sizes>& inputs) {
  if (inputs.size() < 3) return {};
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].values.size() != 1 || std::isnan(inputs[i].values[0])) return {};
  }
  const std::size_t width = std::max<std::size_t>(1, inputs[0].columns);
  const auto count = static_cast<double>(inputs[0].values.size() / width);
  const double step = inputs.size() < 5 ? 1 : inputs[4].values[0];
  if ((inputs.size() >= 4 && inputs[3].values[0] != 0) || std::abs(step) != 1) return {};
  const auto bound = [&](double at) {
    return std::clamp(at < 0 ? at + count : at, step > 0 ? 0.0 : -1.0,
                      step > 0 ? count : count - 1);
  };
  const double last = bound(inputs[2].values[0]);
  Sizes result = inputs[0];
  result.values.clear();
  for (double i = bound(inputs[1].values[0]); step > 0 ? i < last : i > last; i += step) {
    const auto row = inputs[0].values.begin() +
                     static_cast<std::ptrdiff_t>(i) * static_cast<std::ptrdiff_t>(width);
    result.values.insert(result.values.end(), row, row + static_cast<std::ptrdiff_t>(width));
  }
  return result;
}

/// To a list, or to a matrix.
std::optional<Sizes> reshape(const std::vector<Sizes>& inputs) {
  if (inputs.size() != 2 || inputs[0].scalar) return {};
  const Values& shape = inputs[1].values;
  Sizes result = inputs[0];
  result.columns = 0;
  if (shape.size() == 1 &&
      (shape[0] == -1 || shape[0] == static_cast<double>(result.values.size()))) {
    return result;
  }
  if (shape.size() != 2 || shape[0] != -1 || !(shape[1] >= 1 && shape[1] <= kMostSizes)) return {};
  result.columns = static_cast<std::size_t>(shape[1]);
  if (result.values.size() % result.columns != 0) return {};
  return result;
}

std::optional<Sizes> transpose(const NodeReader& node, const Sizes& matrix) {
  if (matrix.columns == 0 || node.integers("perm", {1, 0}) != std::vector<std::int64_t>{1, 0}) {
    return {};
  }
  Sizes result = matrix;
  result.columns = matrix.values.size() / matrix.columns;
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    result.values[i % matrix.columns * result.columns + i / matrix.columns] = matrix.values[i];
  }
  return result;
}

std::optional<Sizes> repeated(const NodeReader& node, const Sizes& count) {
  if (count.values.size() != 1 || !(count.values[0] >= 0 && count.values[0] <= kMostSizes))
    return {};
  const std::optional<Sizes> value = node.tensor("value") == nullptr
                                         ? Sizes{.values = {0}, .real = true}
                                         : sizes_of(*node.tensor("value"));
  if (!value || value->values.size() != 1) return {};
  return Sizes{.values = Values(static_cast<std::size_t>(count.values[0]), value->values[0]),
               .real = value->real};
}

std::optional<Sizes> concat(const std::vector<Sizes>& inputs) {
  Sizes result;
  for (const Sizes& one : inputs) {
    if (one.scalar || one.columns != 0) return {};
    result.values.insert(result.values.end(), one.values.begin(), one.values.end());
    result.real = one.real;
  }
  return result;
}

std::optional<Sizes> cast(const NodeReader& node, Sizes one) {
  const std::int64_t to = node.integer("to", 0);
  one.real = to == 1 || to == 11;
  if (!one.real && to != 6 && to != 7) return {};
  for (double& value : one.values) value = one.real ? value : std::trunc(value);
  return one;
}

}  // namespace

Sizes sizes_of(const tensor::Shape& sample) {
  Sizes sizes{.values = {std::numeric_limits<double>::quiet_NaN()}};
  for (const std::int64_t extent : sample.dims()) {
    sizes.values.push_back(static_cast<double>(extent));
  }
  return sizes;
}

Sizes shape_of(const Sizes& sizes) {
  Sizes shape;
  const auto count = static_cast<double>(sizes.values.size());
  const auto columns = static_cast<double>(sizes.columns);
  if (!sizes.scalar) shape.values.push_back(sizes.columns == 0 ? count : count / columns);
  if (sizes.columns != 0) shape.values.push_back(columns);
  return shape;
}

std::optional<Sizes> sizes_of(const tensor::Tensor& tensor) {
  const tensor::Shape& shape = tensor.shape();
  if (shape.rank() > 1 || shape.elements() > static_cast<std::int64_t>(kMostSizes)) return {};
  Sizes sizes{
      .values = {}, .scalar = shape.rank() == 0, .real = tensor.desc().dtype == tensor::DType::f32};
  if (sizes.real) {
    for (const float value : tensor.floats()) sizes.values.push_back(value);
  } else {
    for (const std::int64_t value : tensor.as<std::int64_t>()) {
      // The largest integer stands for "to the end" in Slice; all beyond 2^53 do.
      sizes.values.push_back(std::clamp(static_cast<double>(value), -kMostSize, kMostSize));
    }
  }
  for (const double value : sizes.values) {
    if (!std::isfinite(value)) return {};
  }
  return sizes;
}

bool computes_sizes(const std::string& op) {
  static constexpr std::array kOps{"Shape",  "Gather",  "Unsqueeze", "Squeeze",
                                   "Concat", "Cast",    "Mul",       "Div",
                                   "Add",    "Sub",     "Floor",     "Ceil",
                                   "Slice",  "Reshape", "Transpose", "ConstantOfShape"};
  return std::ranges::find(kOps, op) != kOps.end();
}

std::optional<Sizes> fold_sizes(const NodeReader& node, const std::vector<Sizes>& inputs) {
  const std::string& op = node.op();
  if (inputs.empty() || !computes_sizes(op)) return {};
  std::optional<Sizes> result;
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") result = arithmetic(op, inputs);
  if (op == "Gather") result = gather(inputs);
  if (op == "Slice") result = slice(inputs);
  if (op == "Reshape") result = reshape(inputs);
  if (op == "Transpose") result = transpose(node, inputs[0]);
  if (op == "ConstantOfShape") result = repeated(node, inputs[0]);
  if (op == "Concat") result = concat(inputs);
  if (op == "Cast") result = cast(node, inputs[0]);
  if (op == "Floor" || op == "Ceil") {
    result = inputs[0];
    for (double& value : result->values)
      value = op == "Floor" ? std::floor(value) : std::ceil(value);
  }
  if (op == "Unsqueeze" || op == "Squeeze") {
    result = inputs[0];
    if (result->scalar == (op == "Squeeze") || result->values.size() != 1) return {};
    result->scalar = op == "Squeeze";
  }
  if (result && result->values.size() > kMostSizes) return {};
  return result;
}

std::optional<std::vector<std::int64_t>> integers_of(const Sizes& sizes) {
  std::vector<std::int64_t> integers;
  for (const double value : sizes.values) {
    if (!(std::abs(value) <= kMostSize)) return {};
    integers.push_back(static_cast<std::int64_t>(value));
  }
  return integers;
}

}  // namespace plait::onnx
