// The table, from what each operation says of itself.
#include "ops/table.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plait::ops {

namespace {

template <class... Ops>
std::vector<OperationInfo> describe(const std::variant<Ops...>*) {
  std::vector<OperationInfo> all;
  const auto append = [&](std::vector<OperationInfo> some) {
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  };
  (append(Ops::describe()), ...);
  return all;
}

}  // namespace

std::string text_of(const FieldValue& value) {
  if (const auto* extent = std::get_if<Extent2>(&value)) {
    return extent->height == extent->width ? fmt::format("{}", extent->height)
                                           : fmt::format("[{}, {}]", extent->height, extent->width);
  }
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&value)) return fmt::format("{}", *flag);
  return fmt::format("{}", std::get<std::int64_t>(value));
}

const std::vector<OperationInfo>& operations() {
  static const std::vector<OperationInfo> all = describe(static_cast<const Operation*>(nullptr));
  return all;
}

const OperationInfo* find_operation(std::string_view name) {
  const auto found = std::ranges::find(operations(), name, &OperationInfo::name);
  return found == operations().end() ? nullptr : &*found;
}

const OperationInfo& info_of(const Operation& operation) {
  const OperationInfo* info = find_operation(name_of(operation));
  if (info == nullptr) fail("operation '{}' is not in the table", name_of(operation));
  return *info;
}

FieldValue usual_value(const OperationInfo& info, const Field& field, const Operation& so_far) {
  if (field.like.empty()) return field.get(info.usual);
  return std::ranges::find(info.fields, field.like, &Field::key)->get(so_far);
}

}  // namespace plait::ops
