// Embedding: a row of a table for each of the numbers (token ids) it reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inputs.hpp"
#include "ops/parameter.hpp"

namespace plait::ops {

struct OperationInfo;

/// Reads integers from 0 to vocabulary - 1, which have no gradient.
struct Embedding {
  static constexpr PlainOnly kPlainOnly{.weights_read_src = true};
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  bool operator==(const Embedding&) const = default;

  std::string_view name() const { return "embedding"; }
  std::string text() const;
  void check(const std::string& where) const;
  std::int64_t id_limit() const { return vocabulary; }
  tensor::Shape result(std::span<const tensor::Shape> srcs, const std::string& where) const;
  std::vector<ParameterSpec> parameters(const tensor::Shape& src) const;
  static std::vector<OperationInfo> describe();
};

}  // namespace plait::ops
