// Patterns, buffers and plain loops with double sums, for the tests of kernels/sparse.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/sparse/sparse_kernels.hpp"
#include "tensor/tensor.hpp"

namespace plait::kernels::sparse {

using Values = std::vector<double>;
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Aligned floats, NaN at first: what is read must have been written.
class Buffer {
 public:
  explicit Buffer(std::int64_t size)
      : size_(static_cast<std::size_t>(size)),
        bytes_(tensor::allocate_bytes(std::max<std::size_t>(size_, 1) * sizeof(float))) {
    std::fill_n(data(), size_, kNan);
  }
  float* data() const { return reinterpret_cast<float*>(bytes_.get()); }
  std::size_t size() const { return size_; }
  float& operator[](std::int64_t i) const { return data()[i]; }
  Buffer& fill(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < size_; ++i) data()[i] = normal(random);
    return *this;
  }
  bool same_bits(const Buffer& other) const {
    return size_ == other.size_ && std::memcmp(data(), other.data(), size_ * sizeof(float)) == 0;
  }

 private:
  std::size_t size_;
  std::shared_ptr<std::byte> bytes_;
};

/// Named, so that a failure says which.
struct Case {
  std::string name;
  tensor::SparsePattern pattern;
};

inline tensor::SparsePattern pattern_of(std::int64_t rows, std::int64_t columns,
                                        const auto& there) {
  tensor::SparsePattern pattern{.rows = rows, .columns = columns, .row_begin = {0}, .column = {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (there(i, j)) pattern.column.push_back(static_cast<std::int32_t>(j));
    }
    pattern.row_begin.push_back(pattern.size());
  }
  return pattern;
}

inline tensor::SparsePattern random_pattern(std::int64_t rows, std::int64_t columns,
                                            double density) {
  std::mt19937 random(7);
  std::bernoulli_distribution there(density);
  return pattern_of(rows, columns, [&](std::int64_t, std::int64_t) { return there(random); });
}

/// Row classes of 1, 2, ..., 17 rows and column classes of 17, ..., 1 columns, mixed up.
inline tensor::SparsePattern staircase() {
  std::vector<int> group;
  for (int size = 1; size <= 17; ++size)
    group.insert(group.end(), static_cast<std::size_t>(size), size);
  std::vector<int> row = group, column = group;
  std::mt19937 random(3);
  std::shuffle(row.begin(), row.end(), random);
  std::shuffle(column.begin(), column.end(), random);
  const auto size = std::ssize(group);
  return pattern_of(size, size, [&](std::int64_t i, std::int64_t j) {
    const int r = row[static_cast<std::size_t>(i)], c = column[static_cast<std::size_t>(j)];
    return r == c || (r + c) % 19 < 5;
  });
}

inline std::vector<Case> cases() {
  const auto never = [](std::int64_t, std::int64_t) { return false; };
  const auto always = [](std::int64_t, std::int64_t) { return true; };
  return {
      {"one", pattern_of(1, 1, always)},
      {"nothing", pattern_of(3, 5, never)},
      {"dense", pattern_of(23, 19, always)},
      {"staircase", staircase()},
      {"wide", random_pattern(9, 70, 0.3)},
      {"tall", random_pattern(70, 9, 0.1)},    // with empty rows
      {"thin", random_pattern(60, 60, 0.02)},  // with empty rows and columns
      {"random", random_pattern(50, 40, 0.2)},
      {"equal rows", pattern_of(14, 30, [](auto i, auto j) { return (i / 7 + j * j) % 3 == 0; })},
      {"equal columns",
       pattern_of(30, 14, [](auto i, auto j) { return (j / 7 + i * i) % 3 == 0; })}};
}

/// A plain [samples][features] value of a buffer in panels.
inline float at(const Panels& panels, std::int64_t features, const Buffer& buffer,
                std::int64_t sample, std::int64_t feature) {
  return buffer[(sample / panels.width * features + feature) * panels.width +
                sample % panels.width];
}

/// What the kernels work on, in their own order and in the pattern's.
struct Problem {
  Problem(const tensor::SparsePattern& the_pattern, std::int64_t batch)
      : pattern(the_pattern),
        kernels(the_pattern),
        panels(panels_for(batch)),
        plain(pattern.size()),
        weights(pattern.size()),
        bias(pattern.rows),
        src(panels.floats(pattern.columns)),
        delta(panels.floats(pattern.rows)) {
    plain.fill(1);
    kernels.pack(plain.data(), weights.data());
    bias.fill(2);
    src.fill(3);
    Buffer values(batch * pattern.rows);
    to_panels(panels, pattern.rows, values.fill(4).data(), delta.data(), 1);
  }
  float x(std::int64_t n, std::int64_t j) const { return at(panels, pattern.columns, src, n, j); }
  float g(std::int64_t n, std::int64_t i) const { return at(panels, pattern.rows, delta, n, i); }

  const tensor::SparsePattern& pattern;
  SparseKernels kernels;
  Panels panels;
  Buffer plain, weights, bias, src, delta;
};

/// The sums, in double: z without bias and diff_src by [sample][feature], the gradients.
struct Judge {
  Values z, diff_src, diff_weights, diff_bias;

  explicit Judge(const Problem& p) {
    const auto size = [&](std::int64_t s) { return static_cast<std::size_t>(s); };
    const tensor::SparsePattern& pattern = p.pattern;
    z.resize(size(p.panels.samples * pattern.rows));
    diff_src.resize(size(p.panels.samples * pattern.columns));
    diff_weights.resize(size(pattern.size()));
    diff_bias.resize(size(pattern.rows));
    for (std::int64_t n = 0; n < p.panels.samples; ++n) {
      for (std::int64_t i = 0; i < pattern.rows; ++i) {
        diff_bias[size(i)] += p.g(n, i);
        std::int64_t k = pattern.row_begin[size(i)];
        for (const std::int32_t j : pattern.row(i)) {
          z[size(n * pattern.rows + i)] += double{p.plain[k]} * p.x(n, j);
          diff_src[size(n * pattern.columns + j)] += double{p.plain[k]} * p.g(n, i);
          diff_weights[size(k++)] += double{p.g(n, i)} * p.x(n, j);
        }
      }
    }
  }
};

inline double activated(const Activation& activation, double z) {
  switch (activation.kind) {
    case ActivationKind::none: return z;
    case ActivationKind::relu: return std::max(z, 0.0);
    case ActivationKind::tanh: return std::tanh(z);
    case ActivationKind::clip: return std::clamp(z, 0.0, double{activation.ceiling});
  }
  return kNan;
}

inline const Activation kActivations[] = {{ActivationKind::none, 0},
                                          {ActivationKind::relu, 0},
                                          {ActivationKind::tanh, 0},
                                          {ActivationKind::clip, 0.5F}};

inline void expect_near(double expected, float actual) {
  EXPECT_NEAR(expected, actual, 2e-5 * (1 + std::abs(expected)));
}

}  // namespace plait::kernels::sparse
