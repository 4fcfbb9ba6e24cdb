// The table of operations: complete, without doubles, and every field can be read and set.
#include "ops/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"

namespace plait::ops {
namespace {

template <class... Ops>
std::size_t described(const std::variant<Ops...>*) {
  return (Ops::describe().size() + ...);
}

/// Another value than `value` within the field's bounds.
FieldValue another(const FieldValue& value, const Field& field) {
  if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
  if (const auto* number = std::get_if<double>(&value)) return *number / 2 + 0.125;
  if (const auto* extent = std::get_if<Extent2>(&value)) {
    return Extent2{extent->height + 1, extent->width + 2};
  }
  return std::get<std::int64_t>(value) + static_cast<std::int64_t>(field.least) + 1;
}

TEST(OperationTable, HasEveryOperationOnce) {
  std::set<std::string_view> names;
  for (const OperationInfo& info : operations()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(name_of(info.usual), info.name);
    EXPECT_EQ(find_operation(info.name), &info);
    EXPECT_EQ(&info_of(info.usual), &info);
    EXPECT_EQ(text_of(Operation{Add{}}), "add");
  }
  EXPECT_EQ(names.size(), described(static_cast<const Operation*>(nullptr)));
  EXPECT_EQ(find_operation("convolutoin"), nullptr);
}

TEST(OperationTable, EveryFieldIsReadAndSet) {
  for (const OperationInfo& info : operations()) {
    std::set<std::string_view> keys;
    for (const Field& field : info.fields) {
      EXPECT_TRUE(keys.insert(field.key).second) << info.name << "." << field.key;
      Operation changed = info.usual;
      const FieldValue wanted = another(field.get(info.usual), field);
      field.set(changed, wanted);
      EXPECT_EQ(field.get(changed), wanted) << info.name << "." << field.key;
      EXPECT_NE(changed, info.usual) << info.name << "." << field.key;
      EXPECT_EQ(name_of(changed), info.name);
    }
  }
}

TEST(OperationTable, AFieldMayFollowAnother) {
  const OperationInfo& info = *find_operation("max_pool");
  const Operation three = Pool{.kernel = {3, 3}};
  const auto stride = std::ranges::find(info.fields, "stride", &Field::key);
  EXPECT_EQ(usual_value(info, *stride, three), (FieldValue{Extent2{3, 3}}));
}

std::string refusal(const Operation& operation, const std::vector<tensor::Shape>& srcs) {
  try {
    result_shape(operation, srcs, "here");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(OperationInputs, AreCounted) {
  const tensor::Shape image{3, 4, 4};
  EXPECT_EQ(refusal(Add{}, {image}), "here: add takes 2 input(s) but has 1");
  EXPECT_EQ(refusal(Concat{}, {image}), "here: concat takes 2 or more input(s) but has 1");
  EXPECT_EQ(refusal(Flatten{}, {image, image}), "here: flatten takes 1 input(s) but has 2");
}

TEST(Multiply, TakesEqualShapesOrAFactorForEachChannel) {
  const tensor::Shape image{3, 4, 4};
  EXPECT_EQ(result_shape(Multiply{}, std::vector{image, image}, ""), image);
  EXPECT_EQ(result_shape(Multiply{}, std::vector{image, tensor::Shape{3, 1, 1}}, ""), image);
  EXPECT_EQ(result_shape(Multiply{}, std::vector{image, tensor::Shape{3}}, ""), image);
  EXPECT_EQ(refusal(Multiply{}, {image, {2, 1, 1}}),
            "here: multiply needs inputs of equal shape, or CxHxW and Cx1x1 or C, but has 3x4x4 "
            "and 2x1x1");
  EXPECT_THAT(refusal(Multiply{}, {{3, 1, 1}, image}), testing::HasSubstr("equal shape"));
}

}  // namespace
}  // namespace plait::ops
