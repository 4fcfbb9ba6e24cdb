// PyTorch's names: what PyTorch calls the tensors of its networks (record_torch_names.py) is read
// into the zoo's with its logits, and written back under the same names.
#include "cli/weights_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "graph/zoo.hpp"
#include "run/workspace.hpp"
#include "temp_folder.hpp"

namespace plait::cli {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

/// The formula of record_torch_names.py.
double spread(std::uint64_t number, std::uint64_t i) {
  const std::uint64_t mixed = (i * 2654435761ULL + number * 40503ULL) % (1ULL << 32);
  return static_cast<double>(mixed) / 4294967296.0 - 0.5;
}

tensor::Tensor values(std::uint64_t number, const std::string& name, const tensor::Shape& shape,
                      double gain) {
  tensor::Tensor tensor(shape);
  const auto fan_in = static_cast<double>(shape.elements() / shape[0]);
  for (std::size_t i = 0; i < tensor.floats().size(); ++i) {
    const double u = spread(number, i);
    const double value = shape.rank() > 1                ? u * gain * std::sqrt(24 / fan_in)
                         : name.ends_with("running_var") ? 1 + 0.5 * u
                         : name.ends_with("weight")      ? 1 + 0.2 * u
                                                         : 0.2 * u;
    tensor.floats()[i] = static_cast<float>(value);
  }
  return tensor;
}

class TorchNames : public ::testing::TestWithParam<const char*> {
 protected:
  TorchNames() {
    const std::filesystem::path here = std::filesystem::path(PLAIT_SOURCE_DIR) / "tests" / "cli";
    recorded_ =
        Json::parse(read_text(here / "recorded_torch_names.json")).at(std::string(GetParam()));
    side_ = recorded_["side"];
    model_ = graph::make_model(GetParam(), {3, side_, side_}, 10);
    for (const Json& one : recorded_["tensors"]) {
      const tensor::Shape shape(one[1].get<std::vector<std::int64_t>>());
      torch_.push_back({one[0], values(torch_.size(), one[0], shape, recorded_["gain"])});
    }
  }
  std::vector<checkpoint::NamedTensor> with_counters() const {
    std::vector<checkpoint::NamedTensor> all = torch_;
    for (const Json& name : recorded_["counters"]) {
      all.push_back({name, tensor::Tensor(tensor::Shape{}, tensor::DType::i64)});
    }
    return all;
  }
  std::string save(const std::vector<checkpoint::NamedTensor>& tensors) const {
    const std::string file = (folder_.path() / "w.safetensors").string();
    checkpoint::write_safetensors(file, tensors);
    return file;
  }
  std::string refusal(const std::vector<checkpoint::NamedTensor>& tensors) const {
    try {
      read_weights(save(tensors), model_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "read";
  }

  TempFolder folder_;
  Json recorded_;
  std::int64_t side_ = 0;
  graph::ModelSpec model_;
  std::vector<checkpoint::NamedTensor> torch_;
};

TEST_P(TorchNames, GiveThePyTorchLogits) {
  const std::vector<checkpoint::NamedTensor> weights =
      read_weights(save(with_counters()), model_).tensors;
  run::Chain chain(model_, {.batch = 2});
  run::ParameterStore parameters(chain, 1, 0);
  parameters.import_weights(weights, "w");
  tensor::Tensor images(tensor::Shape{2, 3, side_, side_});
  for (std::size_t i = 0; i < images.floats().size(); ++i) {
    images.floats()[i] = 2 * static_cast<float>(spread(1000, i));
  }
  run::Workspace workspace(chain);
  const auto logits = workspace.forward(parameters, images);
  const auto wanted = recorded_["logits"].get<std::vector<double>>();
  ASSERT_EQ(logits.size(), wanted.size());
  double largest = 1;
  for (const double x : wanted) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(logits[i], wanted[i], 1e-4 * largest) << i;
  }
}

TEST_P(TorchNames, ComeBackAsTheyWere) {
  const std::vector<checkpoint::NamedTensor> ours = read_weights(save(torch_), model_).tensors;
  const std::vector<checkpoint::NamedTensor> again = read_weights(save(ours), model_).tensors;
  ASSERT_EQ(again.size(), torch_.size());
  const std::vector<checkpoint::NamedTensor> back = with_torch_names(again, model_);
  for (std::size_t i = 0; i < torch_.size(); ++i) {
    const auto found = std::ranges::find(back, torch_[i].name, &checkpoint::NamedTensor::name);
    ASSERT_NE(found, back.end()) << torch_[i].name;
    EXPECT_EQ(std::memcmp(found->tensor.data(), torch_[i].tensor.data(), found->tensor.bytes()), 0)
        << torch_[i].name;
  }
}

TEST_P(TorchNames, OfAnotherKindAreRefused) {
  std::vector<checkpoint::NamedTensor> more = torch_;
  more.push_back({"aux.weight", tensor::Tensor(tensor::Shape{1})});
  EXPECT_THAT(refusal(more), HasSubstr("w.safetensors: tensor 'aux.weight' is not in "));
  EXPECT_THAT(refusal({{"net.0.weight", tensor::Tensor(tensor::Shape{1})}}),
              HasSubstr("'net.0.weight' is a name neither of plait"));
}

INSTANTIATE_TEST_SUITE_P(Of, TorchNames,
                         ::testing::Values("resnet20", "resnet18", "resnet50", "vgg11", "vgg16",
                                           "densenet121", "googlenet", "squeezenet", "mobilenet_v2",
                                           "efficientnet_b0"));

TEST(TorchNamesOfOthers, AreRefused) {
  for (const char* name : {"lenet", "preresnet11"}) {
    const graph::ModelSpec model = graph::make_model(name, {3, 32, 32}, 10);
    EXPECT_THROW(with_torch_names({}, model), UserError) << name;
  }
}

}  // namespace
}  // namespace plait::cli
