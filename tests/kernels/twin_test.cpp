// Every fast layer against its plain-loop twin, element by element, on odd shapes and with plain
// and blocked sources. Both get the same plain numbers; the fast one may choose its own layouts.
#include <gtest/gtest.h>

#include <tuple>

#include "base/error.hpp"
#include "kernels/layer_cases.hpp"
#include "kernels/layer_testing.hpp"

namespace plait::kernels::layer_testing {
namespace {

constexpr double kTolerance = 5e-5;  // of the largest value: float sums in another order

class Twin : public testing::TestWithParam<std::tuple<LayerCase, tensor::Layout, int>> {
 protected:
  Twin()
      : case_(std::get<0>(GetParam())),
        slow_(request_of(case_, tensor::Layout::plain, Backend::reference), Backend::reference) {}

  LayerRequest fast_request() const {
    LayerRequest request = request_of(case_, std::get<1>(GetParam()), Backend::onednn);
    request.threads = std::get<2>(GetParam());
    return request;
  }

  bool is_add() const { return std::holds_alternative<ops::Add>(case_.spec); }

  std::vector<Floats> random_srcs(std::uint64_t stream) const {
    std::vector<Floats> srcs;
    for (const tensor::TensorDesc& src : slow_.request().srcs) {
      srcs.push_back(random_floats(count(src.shape), stream + srcs.size()));
    }
    return srcs;
  }

  /// Forward, both backwards and the state, on both.
  void compare(Rig& fast, const std::vector<Floats>& srcs, bool with_addend) {
    slow_.set_random_parameters(10);
    fast.set_random_parameters(10);
    ASSERT_EQ(fast.layer().dst_desc().shape, slow_.layer().dst_desc().shape);
    const Floats dst = slow_.forward(srcs);
    expect_close(fast.forward(srcs), dst, kTolerance, "dst");
    compare_state(fast);
    if (is_add()) return;
    const Floats g = random_floats(dst.size(), 30);
    Floats expected = slow_.backward_data(g);
    Floats addend;
    if (with_addend) {
      addend = random_floats(expected.size(), 31);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += addend[i];
    }
    expect_close(fast.backward_data(g, addend), expected, kTolerance, "diff_src");
    const std::vector<Floats> slow_gradients = slow_.gradients(g);
    const std::vector<Floats> fast_gradients = fast.gradients(g);
    ASSERT_EQ(fast_gradients.size(), slow_gradients.size());
    for (std::size_t p = 0; p < slow_gradients.size(); ++p) {
      expect_close(fast_gradients[p], slow_gradients[p], kTolerance,
                   "gradient " + std::to_string(p));
    }
  }

  void compare_state(const Rig& fast) {
    const std::vector<ParameterSlot> slots = slow_.layer().parameter_slots();
    for (std::size_t p = 0; p < slots.size(); ++p) {
      expect_close(fast.parameter(p), slow_.parameter(p), kTolerance, slots[p].spec.name);
    }
  }

  LayerCase case_;
  Rig slow_;
};

TEST_P(Twin, ComputesTheSame) {
  Rig fast(fast_request(), Backend::onednn);
  const std::vector<Floats> srcs = random_srcs(20);
  compare(fast, srcs, false);
  const LayerTraits traits = fast.layer().traits();
  if (traits.adds_addend) compare(fast, srcs, true);
  fast.options.adds_there = true;
  if (traits.adds_addend) compare(fast, srcs, true);
  fast.options.adds_there = false;
  if (!traits.diff_in_place && !traits.forward_in_place) return;
  fast.options.in_place = true;
  compare(fast, srcs, false);
  if (traits.adds_addend) compare(fast, srcs, true);
}

TEST_P(Twin, ComputesTheSameInEvaluation) {
  Rig fast(fast_request(), Backend::onednn);
  for (Rig* rig : {&slow_, &fast}) {
    rig->options.training = false;
    rig->set_random_parameters(10);
  }
  const std::vector<Floats> srcs = random_srcs(20);
  expect_close(fast.forward(srcs), slow_.forward(srcs), kTolerance, "dst");
  compare_state(fast);  // evaluation leaves it alone
}

TEST_P(Twin, GivesTheSameBitsTwice) {
  Rig fast(fast_request(), Backend::onednn);
  fast.set_random_parameters(10);
  fast.options.updates_state = false;
  const std::vector<Floats> srcs = random_srcs(20);
  const Floats dst = fast.forward(srcs);
  EXPECT_EQ(fast.forward(srcs), dst);
  if (is_add()) return;
  const Floats g = random_floats(dst.size(), 30);
  EXPECT_EQ(fast.backward_data(g), fast.backward_data(g));
  EXPECT_EQ(fast.gradients(g), fast.gradients(g));
}

/// Many equal values and exact zeros: who wins a window, what ReLU passes at 0.
class TwinOnTies : public Twin {};
TEST_P(TwinOnTies, ComputesTheSame) {
  std::vector<Floats> srcs = random_srcs(20);
  for (Floats& src : srcs) {
    for (float& x : src) x = std::max(0.0F, std::round(2.0F * x));
  }
  Rig fast(fast_request(), Backend::onednn);
  compare(fast, srcs, false);
}

/// The skip of a residual may come in another layout than the one the convolution likes.
class TwinWithPlainSkip : public Twin {};
TEST_P(TwinWithPlainSkip, ComputesTheSame) {
  LayerRequest request = fast_request();
  request.srcs[1].layout = tensor::Layout::plain;
  Rig fast(request, Backend::onednn);
  compare(fast, random_srcs(20), false);
}

template <class Wanted>
std::vector<LayerCase> cases_that(Wanted wanted) {
  std::vector<LayerCase> cases;
  for (const LayerCase& one : layer_cases()) {
    if (wanted(one)) cases.push_back(one);
  }
  return cases;
}
/// Those that may lie in blocks.
bool is_image(const LayerCase& one) { return one.src.rank() == 4 && !ops::plain_only(one.spec); }
bool has_ties(const LayerCase& one) {
  return is_image(one) && (one.name.starts_with("max_pool") || one.name.starts_with("relu") ||
                           one.name.starts_with("leaky_relu") || one.name.starts_with("clip") ||
                           one.name.starts_with("hard"));
}
bool has_skip(const LayerCase& one) { return one.residual; }

std::string name_of_case(const testing::TestParamInfo<Twin::ParamType>& test) {
  return std::get<0>(test.param).name + "_" + plait::tensor::name_of(std::get<1>(test.param)) +
         "_" + std::to_string(std::get<2>(test.param));
}

const auto kPlain = testing::Values(tensor::Layout::plain);
const auto kOthers = testing::Values(tensor::Layout::blocked8, tensor::Layout::blocked16);
const auto kAll =
    testing::Values(tensor::Layout::plain, tensor::Layout::blocked8, tensor::Layout::blocked16);
const auto kOneThread = testing::Values(1);

INSTANTIATE_TEST_SUITE_P(Plain, Twin,
                         testing::Combine(testing::ValuesIn(layer_cases()), kPlain,
                                          testing::Values(1, 2)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Panels, Twin,
                         testing::Combine(testing::ValuesIn(panel_cases()),
                                          testing::Values(tensor::Layout::panels),
                                          testing::Values(1, 2)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Image, Twin,
                         testing::Combine(testing::ValuesIn(cases_that(is_image)), kOthers,
                                          kOneThread),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Image, TwinOnTies,
                         testing::Combine(testing::ValuesIn(cases_that(has_ties)), kAll,
                                          kOneThread),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Image, TwinWithPlainSkip,
                         testing::Combine(testing::ValuesIn(cases_that(has_skip)), kAll,
                                          kOneThread),
                         name_of_case);

}  // namespace
}  // namespace plait::kernels::layer_testing
