// Every kind of layer, on both back ends, against values recorded from PyTorch by record_layers.py.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <tuple>

#include "layers/layer_cases.hpp"
#include "layers/layer_testing.hpp"

namespace plait::layers::layer_testing {
namespace {

using nlohmann::json;

constexpr double kTolerance = 2e-5;  // of the largest value; the record itself was made in float64

/// Empty if the file cannot be read, which RecordedLayers.AreThere reports.
const json& recorded() {
  static const json layers = [] {
    std::ifstream file(PLAIT_SOURCE_DIR "/tests/layers/recorded_layers.json");
    const json content = json::parse(file, nullptr, false);
    return content.is_object() ? content.at("layers") : json::array();
  }();
  return layers;
}

TEST(RecordedLayers, AreThere) { EXPECT_GE(recorded().size(), 42U); }

Floats floats_of(const json& numbers) { return numbers.at("data").get<Floats>(); }
tensor::Shape shape_of(const json& numbers) {
  return tensor::Shape(numbers.at("shape").get<std::vector<std::int64_t>>());
}
ops::Extent2 extent_of(const json& pair) { return {pair.at(0), pair.at(1)}; }

ops::Operation spec_of(const json& layer) {
  const std::string kind = layer.at("kind");
  const json& spec = layer.at("spec");
  if (kind == "convolution") {
    return ops::Convolution{.out_channels = spec.at("out_channels"),
                            .kernel = extent_of(spec.at("kernel")),
                            .stride = extent_of(spec.at("stride")),
                            .padding = extent_of(spec.at("padding")),
                            .dilation = extent_of(spec.at("dilation")),
                            .groups = spec.at("groups"),
                            .bias = spec.at("bias")};
  }
  if (kind == "linear") {
    return ops::Linear{.out_features = spec.at("out_features"), .bias = spec.at("bias")};
  }
  if (kind == "batch_norm") {
    return ops::BatchNorm{.epsilon = spec.at("epsilon"), .momentum = spec.at("momentum")};
  }
  if (kind == "max_pool" || kind == "average_pool") {
    return ops::Pool{.kind = kind == "max_pool" ? ops::PoolKind::max : ops::PoolKind::average,
                     .kernel = extent_of(spec.at("kernel")),
                     .stride = extent_of(spec.at("stride")),
                     .padding = extent_of(spec.at("padding")),
                     .ceil_mode = spec.value("ceil_mode", false),
                     .count_include_pad = spec.value("count_include_pad", true)};
  }
  if (kind == "leaky_relu") {
    return ops::Activation{.kind = ops::ActivationKind::leaky_relu,
                           .slope = spec.value("slope", 0.01)};
  }
  if (kind == "silu") return ops::Activation{ops::ActivationKind::silu};
  if (kind == "relu") return ops::Activation{ops::ActivationKind::relu};
  if (kind == "tanh") return ops::Activation{ops::ActivationKind::tanh};
  if (kind == "sigmoid") return ops::Activation{ops::ActivationKind::sigmoid};
  if (kind == "gelu") return ops::Activation{ops::ActivationKind::gelu};
  if (kind == "global_average_pool") return ops::GlobalAveragePool{};
  if (kind == "flatten") return ops::Flatten{};
  throw std::runtime_error("recorded_layers.json: unknown kind " + kind);
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
}  // namespace plait::layers::layer_testing
