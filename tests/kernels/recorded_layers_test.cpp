// Every kind of layer, on both back ends, against values recorded from PyTorch by record_layers.py.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <tuple>

#include "kernels/layer_cases.hpp"
#include "kernels/layer_testing.hpp"
#include "ops/table.hpp"

namespace plait::kernels::layer_testing {
namespace {

using nlohmann::json;

constexpr double kTolerance = 2e-5;  // of the largest value; the record itself was made in float64

/// Empty if the file cannot be read, which RecordedLayers.AreThere reports.
const json& recorded() {
  static const json layers = [] {
    std::ifstream file(PLAIT_SOURCE_DIR "/tests/kernels/recorded_layers.json");
    const json content = json::parse(file, nullptr, false);
    return content.is_object() ? content.at("layers") : json::array();
  }();
  return layers;
}

TEST(RecordedLayers, AreThere) { EXPECT_GE(recorded().size(), 68U); }

Floats floats_of(const json& numbers) { return numbers.at("data").get<Floats>(); }
tensor::Shape shape_of(const json& numbers) {
  return tensor::Shape(numbers.at("shape").get<std::vector<std::int64_t>>());
}
/// Of the kind that `usual` has.
ops::FieldValue value_of(const json& value, const ops::FieldValue& usual) {
  if (std::holds_alternative<ops::Extent2>(usual)) return ops::Extent2{value.at(0), value.at(1)};
  if (std::holds_alternative<double>(usual)) return value.get<double>();
  if (std::holds_alternative<bool>(usual)) return value.get<bool>();
  return value.get<std::int64_t>();
}

/// By the table of operations; what is not recorded is as usual.
ops::Operation spec_of(const json& layer) {
  const std::string kind = layer.at("kind");
  const ops::OperationInfo* info = ops::find_operation(kind);
  if (info == nullptr) throw std::runtime_error("recorded_layers.json: unknown kind " + kind);
  ops::Operation operation = info->usual;
  std::size_t known = layer.at("spec").contains("relu") ? 1 : 0;  // a fused one
  for (const ops::Field& field : info->fields) {
    const auto value = layer.at("spec").find(std::string(field.key));
    if (value == layer.at("spec").end()) continue;
    field.set(operation, value_of(*value, field.get(operation)));
    ++known;
  }
  if (known != layer.at("spec").size()) {
    throw std::runtime_error("recorded_layers.json: unknown field of " + kind);
  }
  return operation;
}

class RecordedLayer : public testing::TestWithParam<std::tuple<std::size_t, Backend>> {
 protected:
  RecordedLayer()
      : layer_(recorded().at(std::get<0>(GetParam()))), rig_(request(), std::get<1>(GetParam())) {
    rig_.options.training = layer_.at("training");
    const std::vector<ParameterSlot> slots = rig_.layer().parameter_slots();
    for (std::size_t p = 0; p < slots.size(); ++p) {
      const json& home = layer_.at(slots[p].spec.trainable ? "parameters" : "state");
      rig_.set_parameter(p, floats_of(home.at(slots[p].spec.name)));
    }
  }

  LayerRequest request() const {
    return {.spec = spec_of(layer_),
            .srcs = {{.shape = shape_of(layer_.at("src"))}},
            .relu = layer_.at("spec").value("relu", false),
            .residual = false,
            .threads = 1,
            .name = layer_.at("name")};
  }

  const json& layer_;
  Rig rig_;
};

TEST_P(RecordedLayer, Agrees) {
  const Floats dst = rig_.forward({floats_of(layer_.at("src"))});
  EXPECT_EQ(rig_.layer().dst_desc().shape, shape_of(layer_.at("dst")));
  expect_close(dst, floats_of(layer_.at("dst")), kTolerance, "dst");
  const std::vector<ParameterSlot> slots = rig_.layer().parameter_slots();
  for (std::size_t p = 0; p < slots.size(); ++p) {
    if (slots[p].spec.trainable) continue;
    expect_close(rig_.parameter(p), floats_of(layer_.at("state_after").at(slots[p].spec.name)),
                 kTolerance, slots[p].spec.name);
  }
  if (!rig_.options.training) return;  // backward follows training only

  const Floats diff_dst = floats_of(layer_.at("diff_dst"));
  expect_close(rig_.backward_data(diff_dst), floats_of(layer_.at("diff_src")), kTolerance,
               "diff_src");
  const std::vector<Floats> gradients = rig_.gradients(diff_dst);
  std::size_t trainable = 0;
  for (const ParameterSlot& slot : slots) {
    if (!slot.spec.trainable) continue;
    expect_close(gradients.at(trainable++), floats_of(layer_.at("gradients").at(slot.spec.name)),
                 kTolerance, "gradient of " + slot.spec.name);
  }
}

INSTANTIATE_TEST_SUITE_P(PyTorch, RecordedLayer,
                         testing::Combine(testing::Range<std::size_t>(0, recorded().size()),
                                          testing::Values(Backend::reference, Backend::onednn)),
                         [](const auto& test) {
                           const json& layer = recorded().at(std::get<0>(test.param));
                           return layer.at("name").template get<std::string>() + "_" +
                                  to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace plait::kernels::layer_testing
