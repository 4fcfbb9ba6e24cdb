// A slice along each axis, by numbers that are known: the elements count up.
#include <numeric>

#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {
namespace {

Floats sliced(const ops::Slice& slice) {
  Rig rig({.spec = slice, .srcs = {{.shape = {2, 2, 3, 4}}}, .name = "s"}, Backend::onednn);
  Floats numbers(48);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return rig.forward({numbers});
}

TEST(SliceTest, TakesARunOfEveryAxis) {
  EXPECT_EQ(sliced({.start = 1, .length = 1}),
            (Floats{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,  //
                    36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  EXPECT_EQ(sliced({.start = 2, .length = 1, .axis = 1}),
            (Floats{8, 9, 10, 11, 20, 21, 22, 23, 32, 33, 34, 35, 44, 45, 46, 47}));
  EXPECT_EQ(sliced({.start = 1, .length = 1, .axis = 2}),
            (Floats{1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45}));
}

TEST(SliceTest, AddsItsGradientToOneThatIsThere) {
  for (const ops::Slice& slice :
       {ops::Slice{.start = 1, .length = 1}, ops::Slice{.start = 0, .length = 2, .axis = 1},
        ops::Slice{.start = 1, .length = 2, .axis = 2}}) {
    Rig rig({.spec = slice, .srcs = {{.shape = {2, 2, 3, 4}}}, .name = "s"}, Backend::onednn);
    const Floats gradient = random_floats(rig.forward({random_floats(48, 1)}).size(), 2);
    Floats expected = rig.backward_data(gradient);
    const Floats there = random_floats(48, 3);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += there[i];
    EXPECT_EQ(rig.backward_data(gradient, there), expected);
    rig.options.adds_there = true;  // as in training
    EXPECT_EQ(rig.backward_data(gradient, there), expected);
  }
}

}  // namespace
}  // namespace plait::kernels::layer_testing
