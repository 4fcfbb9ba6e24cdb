// Long sums keep their digits: averages, bias gradients and statistics over large images, of equal
// values (where the rounding errors of one long sum in fp32 all point the same way).
#include <gtest/gtest.h>

#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {
namespace {

constexpr double kRounding = 3e-7;  // a few units in the last place of fp32

struct Image {
  std::int64_t samples, channels, height, width;
  tensor::Layout layout = tensor::Layout::plain;
  tensor::TensorDesc desc() const {
    return {.shape = {samples, channels, height, width}, .layout = layout};
  }
};

Rig rig_of(const ops::Operation& spec, const tensor::TensorDesc& src,
           Backend backend = Backend::onednn) {
  tensor::TensorDesc desc = src;
  if (backend == Backend::reference) desc.layout = tensor::Layout::plain;
  return Rig({.spec = spec, .srcs = {desc}, .threads = 2, .name = "long"}, backend);
}

/// 0.1 and so on have no short binary form: every sum of them is rounded.
Floats equal_values(const tensor::TensorDesc& desc, float value) {
  return Floats(count(desc.shape), value);
}

ops::Pool average(ops::Extent2 kernel, ops::Extent2 stride, ops::Extent2 padding) {
  return {.kind = ops::PoolKind::average, .kernel = kernel, .stride = stride, .padding = padding};
}

TEST(LongSums, GlobalAveragePoolOfEqualPixelsIsThePixel) {
  for (const Image& image :
       {Image{1, 3, 224, 224}, Image{2, 13, 224, 224, tensor::Layout::blocked8},
        Image{1, 20, 56, 57, tensor::Layout::blocked16}, Image{2, 5, 9, 8}}) {
    for (const float value : {0.1F, 0.7F, 1.3F, -3.3F}) {
      Rig rig = rig_of(ops::GlobalAveragePool{}, image.desc());
      expect_close(rig.forward({equal_values(image.desc(), value)}),
                   Floats(static_cast<std::size_t>(image.samples * image.channels), value),
                   kRounding, "mean");
    }
  }
}

TEST(LongSums, LargeAveragesAreThoseOfTheReference) {
  const std::vector<ops::Operation> specs{
      ops::GlobalAveragePool{}, average({40, 40}, {20, 20}, {0, 0}),
      average({33, 61}, {7, 13}, {16, 30}), average({1, 61}, {1, 1}, {0, 0}),
      average({9, 9}, {3, 2}, {4, 4})};
  for (const ops::Operation& spec : specs) {
    for (const Image& image : {Image{2, 5, 61, 61}, Image{2, 13, 61, 61, tensor::Layout::blocked8},
                               Image{1, 20, 61, 61, tensor::Layout::blocked16}}) {
      Floats src = random_floats(count(image.desc().shape), 1);
      for (float& x : src) x += 2;
      Rig fast = rig_of(spec, image.desc());
      Rig slow = rig_of(spec, image.desc(), Backend::reference);
      const Floats expected = slow.forward({src});
      expect_close(fast.forward({src}), expected, 1e-6, "average");
      const Floats g = random_floats(expected.size(), 2);
      expect_close(fast.backward_data(g), slow.backward_data(g), 1e-5, "diff_src");
    }
  }
}

struct BiasCase {
  const char* name;
  ops::Convolution spec;
  Image image;
};

/// Convolutions whose bias gradient is a sum of ours and not oneDNN's.
TEST(LongSums, BiasGradientsOfEqualPixelsAreTheirNumber) {
  const ops::Extent2 one{1, 1};
  const ops::Extent2 two{2, 2};
  const std::vector<BiasCase> cases{
      {"3x3", {.out_channels = 16, .padding = one}, {4, 16, 112, 112, tensor::Layout::blocked8}},
      {"5x5",
       {.out_channels = 16, .kernel = {5, 5}, .padding = two},
       {4, 16, 112, 112, tensor::Layout::blocked8}}};
  for (const BiasCase& one_case : cases) {
    Rig rig = rig_of(one_case.spec, one_case.image.desc());
    rig.set_random_parameters(3);
    const Floats dst = rig.forward({random_floats(count(one_case.image.desc().shape), 1)});
    const float value = 0.1F;
    const std::vector<Floats> gradients = rig.gradients(Floats(dst.size(), value));
    const double pixels =
        static_cast<double>(dst.size()) / 8 / static_cast<double>(one_case.spec.out_channels / 8);
    const Floats expected(static_cast<std::size_t>(one_case.spec.out_channels),
                          static_cast<float>(pixels * double{value}));
    expect_close(gradients[1], expected, 2e-6, std::string("bias of ") + one_case.name);
  }
}

TEST(LongSums, BatchNormOfLargeImagesIsTheReferences) {
  constexpr double kBatchNorm = 1e-5;  // sums of 1024 pixels are taken in fp32
  for (const tensor::Layout layout :
       {tensor::Layout::plain, tensor::Layout::blocked8, tensor::Layout::blocked16}) {
    const Image image{1, 16, 300, 300, layout};
    Rig fast = rig_of(ops::BatchNorm{}, image.desc());
    Rig slow = rig_of(ops::BatchNorm{}, image.desc(), Backend::reference);
    fast.set_random_parameters(3);
    slow.set_random_parameters(3);
    // Two values, far from the first pixel's: squares of one size, all rounded the same way.
    Floats src(count(image.desc().shape), 1.1F);
    for (std::size_t i = 0; i < src.size(); i += 90000) src[i] = 0.0F;
    fast.forward({src});
    slow.forward({src});
    for (std::size_t p = 2; p < 4; ++p) {
      expect_close(fast.parameter(p), slow.parameter(p), kBatchNorm, "running statistics");
    }
    const Floats g(src.size(), 0.3F);
    slow.backward_data(g);
    fast.backward_data(g);
    const Floats expected = slow.gradients(g)[1];
    expect_close(fast.gradients(g)[1], expected, kBatchNorm, "gradient of the bias");
  }
}

}  // namespace
}  // namespace plait::kernels::layer_testing
