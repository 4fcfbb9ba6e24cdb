// Every operation of the table in a plan document: all fields survive, and bounds hold.
#include "plan/json_layer.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::plan {
namespace {

/// Unlike the usual value, and within bounds.
ops::FieldValue unusual(const ops::FieldValue& usual) {
  if (const auto* flag = std::get_if<bool>(&usual)) return !*flag;
  if (const auto* number = std::get_if<double>(&usual)) return *number / 3 + 0.125;
  if (const auto* extent = std::get_if<ops::Extent2>(&usual)) {
    return ops::Extent2{extent->height + 2, extent->width + 3};
  }
  return std::get<std::int64_t>(usual) + 4;
}

TEST(PlanJsonLayer, KeepsEveryField) {
  for (const ops::OperationInfo& info : ops::operations()) {
    if (std::holds_alternative<ops::SparseLinear>(info.usual)) continue;
    SCOPED_TRACE(info.name);
    ops::Operation layer = info.usual;
    for (const ops::Field& field : info.fields) field.set(layer, unusual(field.get(layer)));
    const Json json = Json::parse(layer_json(layer).dump());
    EXPECT_EQ(read_layer(JsonField(json, "plan")), layer);
    for (const ops::Field& field : info.fields) {
      if (std::holds_alternative<bool>(field.get(layer))) continue;
      Json wrong = json;
      wrong[std::string(field.key)] = 1e300;
      EXPECT_THROW(read_layer(JsonField(wrong, "plan")), UserError) << field.key;
    }
  }
}

}  // namespace
}  // namespace plait::plan
