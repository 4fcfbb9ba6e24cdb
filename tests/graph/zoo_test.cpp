// The zoo against published parameter counts and multiply-adds.
#include "graph/zoo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "graph/macs.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const tensor::Shape kZooImage{3, 32, 32};
const tensor::Shape kImageNet{3, 224, 224};
const tensor::Shape kMnist{1, 28, 28};

std::string zoo_refusal(const std::string& name, const tensor::Shape& input, int classes = 10) {
  try {
    make_model(name, input, classes);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

struct Count {
  std::string name;
  tensor::Shape input;
  int classes;
  std::int64_t parameters;
};

class ZooCounts : public testing::TestWithParam<Count> {};

TEST_P(ZooCounts, ParametersMatchThePublishedNumber) {
  const Count& count = GetParam();
  const ModelSpec model = make_model(count.name, count.input, count.classes);
  EXPECT_EQ(parameter_count(model), count.parameters);
  EXPECT_EQ(model_cost(model).parameters, count.parameters);
  EXPECT_EQ(border_shapes(model).back(), tensor::Shape{count.classes});
  EXPECT_EQ(model.name, count.name);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, ZooCounts,
    testing::Values(
        Count{"linear", kMnist, 10, 784 * 10 + 10},
        Count{"mlp:100-50", kMnist, 10, 784 * 100 + 100 + 100 * 50 + 50 + 50 * 10 + 10},
        Count{"mlp", {20}, 3, 20 * 512 + 512 + 512 * 256 + 256 + 256 * 3 + 3},
        Count{"lenet", kMnist, 10, 431'080},           // Caffe's LeNet
        Count{"lenet", kZooImage, 10, 657'080},        // 1,520 + 25,050 + 625,500 + 5,010
        Count{"vgg16", kZooImage, 10, 14'728'266},     // parareal paper's VGG-16
        Count{"vgg11", kImageNet, 1000, 132'868'840},  // torchvision vgg11_bn
        Count{"vgg13", kImageNet, 1000, 133'053'736}, Count{"vgg16", kImageNet, 1000, 138'365'992},
        Count{"vgg19", kImageNet, 1000, 143'678'248},
        Count{"resnet18", kImageNet, 1000, 11'689'512},  // torchvision
        Count{"resnet34", kImageNet, 1000, 21'797'672},
        Count{"resnet50", kImageNet, 1000, 25'557'032},
        Count{"resnet18", kZooImage, 10, 11'173'962},
        Count{"resnet20", kZooImage, 10, 272'474},  // option A 269,722 + two projections 2,752
        Count{"resnet110", kZooImage, 10, 1'730'714}, Count{"resnet164", kZooImage, 10, 1'703'258},
        Count{"preresnet164", kZooImage, 10, 1'703'258},
        Count{"resnet1001", kZooImage, 10, 10'327'706},
        Count{"densenet121", kImageNet, 1000, 7'978'856},  // torchvision, as all below
        Count{"googlenet", kImageNet, 1000, 6'624'904},    // aux_logits=False
        Count{"squeezenet", kImageNet, 1000, 1'248'424},   // squeezenet1_0
        Count{"mobilenet_v2", kImageNet, 1000, 3'504'872},
        Count{"efficientnet_b0", kImageNet, 1000, 5'288'548}),
    [](const auto& tested) {
      std::string name = tested.param.name + "_" + tested.param.input.to_string();
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

TEST(Zoo, MacsOfResNet1001) {
  EXPECT_NEAR(static_cast<double>(model_cost(make_model("resnet1001", kZooImage, 10)).macs),
              1.488e9, 0.5e6);
}

TEST(Zoo, MacsOfTorchvisionNetworks) {
  const auto gmacs = [](const std::string& name) {
    return static_cast<double>(model_cost(make_model(name, kImageNet, 1000)).macs) * 1e-9;
  };
  EXPECT_NEAR(gmacs("resnet18"), 1.814, 0.001);
  EXPECT_NEAR(gmacs("resnet50"), 4.089, 0.001);
  EXPECT_NEAR(gmacs("vgg16"), 15.470, 0.001);
  EXPECT_NEAR(gmacs("densenet121"), 2.834, 0.001);
  EXPECT_NEAR(gmacs("googlenet"), 1.498, 0.001);
  EXPECT_NEAR(gmacs("squeezenet"), 0.819, 0.001);
  EXPECT_NEAR(gmacs("mobilenet_v2"), 0.301, 0.001);
  EXPECT_NEAR(gmacs("efficientnet_b0"), 0.386, 0.001);
}

TEST(Zoo, MacsOfVgg16ByStage) {
  const ModelSpec model = make_model("vgg16", kZooImage, 10);
  const std::vector<BlockCost> costs = block_costs(model);
  std::vector<double> stages(1);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (model.blocks[i].name.starts_with("pool")) stages.push_back(0);
    stages.back() += static_cast<double>(costs[i].macs) * 1e-6;
  }
  ASSERT_EQ(stages.size(), 6U);
  const double wanted[] = {39.5, 56.6, 94.4, 94.4, 28.3};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(stages[i], wanted[i], 0.06) << "stage " << i + 1;
  EXPECT_NEAR(static_cast<double>(model_cost(model).macs) * 1e-6, 313, 0.5);
}

TEST(Zoo, EveryNameBuildsAndIsUnique) {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo_names()) {
    EXPECT_FALSE(entry.description.empty());
    const tensor::Shape wanted =
        entry.name.starts_with("unet") ? tensor::Shape{7, 32, 32} : tensor::Shape{7};
    EXPECT_EQ(border_shapes(make_model(entry.name, kZooImage, 7)).back(), wanted) << entry.name;
    EXPECT_THAT(names, testing::Not(testing::Contains(entry.name)));
    names.push_back(entry.name);
  }
}

TEST(Zoo, PreactFirstBlockSharesItsReluWithTheShortcut) {
  const ModelSpec model = make_model("preresnet29", kZooImage, 10);
  ASSERT_EQ(model.blocks.size(), 1 + 9 + 1U);
  const BlockSpec& first = model.blocks[4];
  EXPECT_EQ(first.name, "layer2.0");
  ASSERT_EQ(first.nodes.size(), 11U);
  EXPECT_EQ(first.nodes[9].name, "shortcut");
  EXPECT_EQ(first.nodes[9].inputs, std::vector{1});
  EXPECT_EQ(first.nodes[1].name, "relu1");
  EXPECT_EQ(first.nodes[10].inputs, (std::vector{8, 9}));
  EXPECT_EQ(std::get<ops::Convolution>(first.nodes[2].layer).stride, (ops::Extent2{2, 2}));
  EXPECT_EQ(std::get<ops::Convolution>(first.nodes[9].layer).stride, (ops::Extent2{2, 2}));
  const BlockSpec& second = model.blocks[5];
  ASSERT_EQ(second.nodes.size(), 10U);
  EXPECT_EQ(second.nodes[9].inputs, (std::vector{8, kBlockInput}));
}

TEST(Zoo, ShapesAtTheBordersOfResNet164) {
  const std::vector<tensor::Shape> borders = border_shapes(make_model("resnet164", kZooImage, 10));
  EXPECT_EQ(borders[1], (tensor::Shape{16, 32, 32}));
  EXPECT_EQ(borders[2], (tensor::Shape{64, 32, 32}));
  EXPECT_EQ(borders[20], (tensor::Shape{128, 16, 16}));
  EXPECT_EQ(borders[38], (tensor::Shape{256, 8, 8}));
}

TEST(Zoo, ResNetNamesFollowTorchvision) {
  const ModelSpec model = make_model("resnet18", kImageNet, 1000);
  const std::vector<tensor::Shape> borders = border_shapes(model);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    for (const ops::ParameterSpec& parameter : block_parameters(model.blocks[i], borders[i])) {
      names.push_back(model.blocks[i].name + "." + parameter.name);
    }
  }
  for (const char* name :
       {"stem.conv1.weight", "layer1.0.bn1.running_mean", "layer2.0.downsample.0.weight",
        "layer2.0.downsample.1.bias", "layer4.1.conv2.weight", "head.fc.bias"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

TEST(Zoo, SmallImagesGetASmallStem) {
  EXPECT_EQ(border_shapes(make_model("resnet18", kZooImage, 10))[1], (tensor::Shape{64, 32, 32}));
  EXPECT_EQ(border_shapes(make_model("resnet18", {3, 64, 64}, 10))[2], (tensor::Shape{64, 16, 16}));
  // What enters the last pool: 4x4 or more, and 7x7 of a large image (SqueezeNet: 13x13).
  const auto last_image = [](const std::string& name, const tensor::Shape& input) {
    const ModelSpec model = make_model(name, input, 10);
    std::vector<tensor::Shape> borders = border_shapes(model);
    while (borders.back().rank() != 3) borders.pop_back();
    return borders.back()[2];
  };
  for (const char* name :
       {"densenet121", "googlenet", "squeezenet", "mobilenet_v2", "efficientnet_b0"}) {
    const bool squeeze = std::string(name) == "squeezenet";
    EXPECT_EQ(last_image(name, kZooImage), squeeze ? 8 : 4) << name;
    EXPECT_EQ(last_image(name, kImageNet), squeeze ? 13 : 7) << name;
    EXPECT_NO_THROW(make_model(name, {1, 8, 8}, 10)) << name;
    EXPECT_THAT(zoo_refusal(name, {3, 7, 32}), AllOf(HasSubstr("8x8"), HasSubstr("3x7x32")));
  }
}

TEST(Zoo, UnetJoinsLevelsOfEqualSize) {
  const ModelSpec model = make_model("unet:8", {3, 48, 32}, 4);
  const std::vector<tensor::Shape> borders = border_shapes(model);
  EXPECT_EQ(borders.back(), (tensor::Shape{4, 48, 32}));
  std::size_t joins = 0;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    if (model.blocks[i].inputs.size() < 2) continue;
    const std::vector<tensor::Shape> srcs = input_shapes(model, borders, i);
    EXPECT_EQ(srcs[0], srcs[1]) << model.blocks[i].name;
    ++joins;
  }
  EXPECT_EQ(joins, 4U);
  EXPECT_EQ(borders[10], (tensor::Shape{128, 3, 2}));  // the bottom
  // 3x3 convolutions without bias and BatchNorm's two numbers per channel, a 1x1 with bias:
  std::int64_t wanted = 0;
  const auto conv = [&](std::int64_t in, std::int64_t out) { wanted += 9 * in * out + 2 * out; };
  for (std::int64_t in = 3, out = 8; out <= 128; in = out, out *= 2) {
    conv(in, out);
    conv(out, out);
  }
  for (std::int64_t out = 64; out >= 8; out /= 2) {
    conv(2 * out, out);
    conv(2 * out, out);
    conv(out, out);
  }
  EXPECT_EQ(parameter_count(model), wanted + 8 * 4 + 4);
  EXPECT_THAT(zoo_refusal("unet", {3, 40, 48}), AllOf(HasSubstr("16"), HasSubstr("3x40x48")));
  EXPECT_THAT(zoo_refusal("unet:0", kZooImage), HasSubstr("unet:16"));
  EXPECT_THAT(zoo_refusal("unet:9999", kZooImage), HasSubstr("4096"));
}

TEST(Zoo, WrongInputsAreRefusedWithTheShape) {
  EXPECT_THAT(zoo_refusal("vgg16", kMnist),
              AllOf(HasSubstr("vgg16"), HasSubstr("32x32"), HasSubstr("1x28x28")));
  EXPECT_THAT(zoo_refusal("resnet20", {784}), AllOf(HasSubstr("CxHxW"), HasSubstr("784")));
  EXPECT_THAT(zoo_refusal("lenet", {1, 8, 8}), HasSubstr("16x16"));
  EXPECT_THAT(zoo_refusal("mlp", {}), HasSubstr("input"));
  EXPECT_THAT(zoo_refusal("mlp", kMnist, 0), HasSubstr("at least 1 class"));
  EXPECT_THAT(zoo_refusal("mlp", {3, 0, 5}), HasSubstr("3x0x5"));
}

TEST(Zoo, WrongNamesAreRefused) {
  EXPECT_THAT(zoo_refusal("vgg61", kZooImage),
              AllOf(HasSubstr("did you mean"), HasSubstr("resnet1001")));
  EXPECT_THAT(zoo_refusal("resnet21", kZooImage), HasSubstr("did you mean"));
  EXPECT_THAT(zoo_refusal("vgg016", kZooImage), HasSubstr("unknown model"));
  EXPECT_THAT(zoo_refusal("vgg16 ", kZooImage), HasSubstr("unknown model"));
  EXPECT_THAT(zoo_refusal("", kZooImage), HasSubstr("unknown model"));
  EXPECT_THAT(zoo_refusal("preresnet30", kZooImage), HasSubstr("9n+2"));
  for (const char* name :
       {"mlp:", "mlp:0", "mlp:-5", "mlp:5-", "mlp:5x6", "mlp:99999999999999999999"}) {
    EXPECT_THAT(zoo_refusal(name, kZooImage), HasSubstr("mlp:512-256")) << name;
  }
}

TEST(Zoo, AbsurdSizesAreRefusedBeforeTheyOverflow) {
  EXPECT_THAT(zoo_refusal("mlp:2000000000-2000000000", kZooImage), HasSubstr("2^40 parameters"));
  EXPECT_THAT(zoo_refusal("linear", {1 << 30, 1 << 30, 1 << 30}), HasSubstr("2^40 elements"));
}

}  // namespace
}  // namespace plait::graph
