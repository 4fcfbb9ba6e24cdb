// The table of operations: names here and elsewhere, and the fields of each with their bounds.
// Model files, plan documents and ONNX read and write operations by it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/extent.hpp"
#include "ops/operation.hpp"

namespace plait::ops {

inline constexpr double kLarge = 1e30;

using FieldValue = std::variant<std::int64_t, double, bool, Extent2>;

/// As model files write it: 3, [1, 3], true.
std::string text_of(const FieldValue& value);

/// One number, flag or pair of an operation.
struct Field {
  std::string_view key;  ///< in model files and plan documents
  double least = 0;      ///< bounds of numbers, and of both sides of a pair
  double most = 0;
  std::string_view onnx{};  ///< the attribute that means the same
  std::string_view like{};  ///< unless said, it is as this other field
  bool required = false;    ///< has no usual value
  bool always = false;      ///< written even where it is the usual value
  std::function<FieldValue(const Operation&)> get{};
  std::function<void(Operation&, const FieldValue&)> set{};
};

/// `rest` for this member.
template <class Op, class T>
Field field(T Op::*member, Field rest) {
  rest.get = [member](const Operation& operation) -> FieldValue {
    return std::get<Op>(operation).*member;
  };
  rest.set = [member](Operation& operation, const FieldValue& value) {
    std::get<Op>(operation).*member = std::get<T>(value);
  };
  return rest;
}

/// An attribute that always has this value.
struct OnnxConstant {
  std::string_view name;
  std::int64_t value = 0;
};

struct OperationInfo {
  std::string_view name;
  std::string_view short_name{};  ///< of a layer that a file does not name; "": the name
  std::string_view onnx{};        ///< the operator; "": there is no single one for it
  std::vector<OnnxConstant> onnx_constants{};
  std::string_view torch{};  ///< torch.nn's class, or torch's function
  Operation usual;           ///< as it is unless said
  std::vector<Field> fields{};
};

/// In the order of Operation's alternatives.
const std::vector<OperationInfo>& operations();

const OperationInfo& info_of(const Operation& operation);
/// Null where nothing has this name.
const OperationInfo* find_operation(std::string_view name);

/// What a field is unless said: the usual value, or that of the field it is like.
FieldValue usual_value(const OperationInfo& info, const Field& field, const Operation& so_far);

}  // namespace plait::ops
