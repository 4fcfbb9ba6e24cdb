// What an operation does not say of itself is the usual: one input, no parameters, nothing
// multiplied.
#include "ops/operation.hpp"

#include "base/error.hpp"

namespace plait::ops {

Inputs inputs_of(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> Inputs {
        if constexpr (requires { one.kInputs; }) return one.kInputs;
        return {};
      },
      operation);
}

std::int64_t id_limit(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> std::int64_t {
        if constexpr (requires { one.id_limit(); }) return one.id_limit();
        return 0;
      },
      operation);
}

std::optional<PlainOnly> plain_only(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> std::optional<PlainOnly> {
        if constexpr (requires { one.kPlainOnly; }) return one.kPlainOnly;
        return {};
      },
      operation);
}

std::optional<Sum> sum_of(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> std::optional<Sum> {
        if constexpr (requires { one.kSum; }) return one.kSum;
        return {};
      },
      operation);
}

std::string_view name_of(const Operation& operation) {
  return std::visit([](const auto& one) { return one.name(); }, operation);
}

std::string text_of(const Operation& operation) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.text(); }) {
          return std::string(one.text());
        } else {
          return std::string(one.name());
        }
      },
      operation);
}

tensor::Shape result_shape(const Operation& operation, std::span<const tensor::Shape> srcs,
                           const std::string& where) {
  const Inputs wanted = inputs_of(operation);
  if (srcs.size() < wanted.least || srcs.size() > wanted.most) {
    user_error("{}: {} takes {}{} input(s) but has {}", where, name_of(operation), wanted.least,
               wanted.most > wanted.least ? " or more" : "", srcs.size());
  }
  return std::visit([&](const auto& one) { return one.result(srcs, where); }, operation);
}

std::vector<ParameterSpec> parameters_of(const Operation& operation, const tensor::Shape& src) {
  return std::visit(
      [&](const auto& one) -> std::vector<ParameterSpec> {
        if constexpr (requires { one.parameters(src); }) return one.parameters(src);
        return {};
      },
      operation);
}

std::int64_t macs_of(const Operation& operation, const tensor::Shape& src,
                     const tensor::Shape& dst) {
  return std::visit(
      [&](const auto& one) -> std::int64_t {
        if constexpr (requires { one.macs(src, dst); }) return one.macs(src, dst);
        return 0;
      },
      operation);
}

std::vector<std::int64_t> weight_extents(const Operation& operation, const tensor::Shape& src) {
  return std::visit(
      [&](const auto& one) -> std::vector<std::int64_t> {
        if constexpr (requires { one.weight_extents(src); }) return one.weight_extents(src);
        return {};
      },
      operation);
}

void check_numbers(const Operation& operation, const std::string& where) {
  std::visit(
      [&](const auto& one) {
        if constexpr (requires { one.check(where); }) one.check(where);
      },
      operation);
}

}  // namespace plait::ops
