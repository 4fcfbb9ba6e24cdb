// A layer's settings as JSON, both ways, by the table of operations.
#include "plan/json_layer.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::plan {

namespace {

struct ValueWriter {
  Json operator()(const ops::Extent2& extent) const { return {extent.height, extent.width}; }
  template <class Other>
  Json operator()(const Other& other) const {
    return other;
  }
};

/// Of the kind that `usual` has.
ops::FieldValue read_value(const JsonField& json, const ops::Field& field,
                           const ops::FieldValue& usual) {
  if (std::holds_alternative<bool>(usual)) return json.flag();
  if (std::holds_alternative<double>(usual)) return json.real(field.least, field.most);
  // Bounds of whole numbers are whole numbers; those of real ones need not fit.
  const Limits range{static_cast<std::int64_t>(field.least), static_cast<std::int64_t>(field.most)};
  if (std::holds_alternative<std::int64_t>(usual)) return json.number(range);
  const std::vector<std::int64_t> sides = json.numbers(2, range);
  if (sides.size() != 2) json.refuse("must be [height, width]");
  return ops::Extent2{sides[0], sides[1]};
}

}  // namespace

Json layer_json(const ops::Operation& layer) {
  if (std::holds_alternative<ops::SparseLinear>(layer)) fail("a sparse layer without its matrix");
  const ops::OperationInfo& info = ops::info_of(layer);
  Json json{{"type", info.name}};
  for (const ops::Field& field : info.fields) {
    json[std::string(field.key)] = std::visit(ValueWriter{}, field.get(layer));
  }
  return json;
}

ops::Operation read_layer(const JsonField& field) {
  const JsonField type = field.at("type");
  const ops::OperationInfo* info = ops::find_operation(type.text());
  if (info == nullptr || std::holds_alternative<ops::SparseLinear>(info->usual)) {
    type.refuse("is no layer that is known");
  }
  ops::Operation layer = info->usual;
  for (const ops::Field& one : info->fields) {
    one.set(layer, read_value(field.at(std::string(one.key).c_str()), one, one.get(info->usual)));
  }
  return layer;
}

}  // namespace plait::plan
