// kernels/sparse against plain loops with double sums, on patterns with and without structure.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/sparse_testing.hpp"

namespace plait::kernels::sparse {
namespace {

void expect_values(const Problem& p, std::int64_t features, const Values& expected,
                   const Buffer& actual) {
  for (std::int64_t n = 0; n < p.panels.samples; ++n) {
    for (std::int64_t f = 0; f < features; ++f) {
      expect_near(expected[static_cast<std::size_t>(n * features + f)],
                  at(p.panels, features, actual, n, f));
    }
  }
}

void check_forward(const Problem& p, const Judge& judge) {
  for (const Activation& activation : kActivations) {
    for (const bool with_bias : {true, false}) {
      Values expected = judge.z;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double bias = p.bias[static_cast<std::int64_t>(i) % p.pattern.rows];
        expected[i] = activated(activation, expected[i] + (with_bias ? bias : 0.0));
      }
      const Buffer dst(p.delta.size());
      p.kernels.forward(p.panels, p.weights.data(), with_bias ? p.bias.data() : nullptr,
                        p.src.data(), dst.data(), activation, 2);
      expect_values(p, p.pattern.rows, expected, dst);
    }
  }
}

void check_forward_add(const Problem& p, const Judge& judge) {
  for (const Activation& activation : kActivations) {
    Buffer dst(p.delta.size());
    dst.fill(5);
    Values expected = judge.z;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i) / p.pattern.rows;
      const auto row = static_cast<std::int64_t>(i) % p.pattern.rows;
      expected[i] = activated(activation, expected[i] + at(p.panels, p.pattern.rows, dst, n, row));
    }
    p.kernels.forward_add(p.panels, p.weights.data(), p.src.data(), dst.data(), activation, 2);
    expect_values(p, p.pattern.rows, expected, dst);
  }
}

void check_backward_data(const Problem& p, const Judge& judge) {
  Buffer diff_src(p.src.size());
  p.kernels.backward_data(p.panels, p.weights.data(), p.delta.data(), diff_src.data(), false, 2);
  expect_values(p, p.pattern.columns, judge.diff_src, diff_src);
  for (std::int64_t n = p.panels.samples; n < p.panels.count * p.panels.width; ++n) {
    for (std::int64_t j = 0; j < p.pattern.columns; ++j) {
      EXPECT_EQ(at(p.panels, p.pattern.columns, diff_src, n, j), 0) << "padding";
    }
  }
  p.kernels.backward_data(p.panels, p.weights.data(), p.delta.data(), diff_src.data(), true, 2);
  Values twice = judge.diff_src;
  for (double& value : twice) value *= 2;
  expect_values(p, p.pattern.columns, twice, diff_src);
}

void check_backward_weights(const Problem& p, const Judge& judge) {
  const Buffer diff_weights(p.pattern.size()), plain(p.pattern.size()), diff_bias(p.pattern.rows);
  p.kernels.backward_weights(p.panels, p.src.data(), p.delta.data(), diff_weights.data(),
                             diff_bias.data(), 2);
  p.kernels.unpack(diff_weights.data(), plain.data());
  for (std::size_t k = 0; k < plain.size(); ++k) {
    expect_near(judge.diff_weights[k], plain.data()[k]);
  }
  for (std::size_t i = 0; i < diff_bias.size(); ++i) {
    expect_near(judge.diff_bias[i], diff_bias.data()[i]);
  }
}

class SparseKernelsTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(SparseKernelsTest, AgreeWithPlainLoops) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Problem p(c.pattern, GetParam());
    const Judge judge(p);
    check_forward(p, judge);
    check_forward_add(p, judge);
    check_backward_data(p, judge);
    check_backward_weights(p, judge);
    if (HasFailure()) return;
  }
}

TEST_P(SparseKernelsTest, BitsDoNotDependOnThreads) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Problem p(c.pattern, GetParam());
    const auto run = [&](int threads) {
      std::vector<Buffer> results{Buffer(p.delta.size()), Buffer(p.src.size()),
                                  Buffer(p.pattern.size()), Buffer(p.pattern.rows)};
      p.kernels.forward(p.panels, p.weights.data(), p.bias.data(), p.src.data(), results[0].data(),
                        {.kind = ActivationKind::tanh}, threads);
      p.kernels.backward_data(p.panels, p.weights.data(), p.delta.data(), results[1].data(), false,
                              threads);
      p.kernels.backward_weights(p.panels, p.src.data(), p.delta.data(), results[2].data(),
                                 results[3].data(), threads);
      return results;
    };
    const std::vector<Buffer> one = run(1);
    for (const int threads : {2, 3}) {
      const std::vector<Buffer> many = run(threads);
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(one[i].same_bits(many[i])) << threads << " threads, result " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, SparseKernelsTest, testing::Values(1, 5, 16, 40, 64, 100, 130));

// Every instruction set that this processor has, not just the best one.
TEST(SparseKernels, AgreeOnEveryTarget) {
  const Case c{"staircase", staircase()};
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const Problem p(c.pattern, 37);
    const Judge judge(p);
    check_forward(p, judge);
    check_backward_data(p, judge);
    check_backward_weights(p, judge);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(SparseKernels, PackAndUnpackAreInverse) {
  for (const Case& c : cases()) {
    const SparseKernels kernels(c.pattern);
    const Buffer physical(c.pattern.size()), back(c.pattern.size());
    Buffer plain(c.pattern.size());
    for (std::int64_t i = 0; i < c.pattern.size(); ++i) plain[i] = static_cast<float>(i);
    kernels.pack(plain.data(), physical.data());
    kernels.unpack(physical.data(), back.data());
    EXPECT_TRUE(plain.same_bits(back)) << c.name;
  }
}

TEST(SparseKernels, FindsTheClasses) {
  const tensor::SparsePattern pattern = staircase();
  const Classes classes = row_classes(pattern);
  std::vector<std::int32_t> sizes;
  for (std::int64_t c = 0; c < classes.count(); ++c) {
    sizes.push_back(classes.size(c));
    const auto first =
        classes.member[static_cast<std::size_t>(classes.begin[static_cast<std::size_t>(c)])];
    for (std::int32_t m = classes.begin[static_cast<std::size_t>(c)];
         m < classes.begin[static_cast<std::size_t>(c) + 1]; ++m) {
      const auto row = pattern.row(classes.member[static_cast<std::size_t>(m)]);
      EXPECT_TRUE(std::ranges::equal(row, pattern.row(first)));
    }
  }
  std::ranges::sort(sizes);
  std::vector<std::int32_t> expected(17);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(sizes, expected);
}

TEST(SparseKernels, LetNanAndInfinityThrough) {
  const tensor::SparsePattern pattern = pattern_of(8, 8, [](auto i, auto j) { return i == j; });
  for (const Activation& activation : kActivations) {
    Problem p(pattern, 16);
    p.src.fill(1);
    p.src[2 * 16 + 5] = kNan;
    p.src[3 * 16 + 6] = std::numeric_limits<float>::infinity();
    p.weights[3] = 1;
    const Buffer dst(p.delta.size());
    p.kernels.forward(p.panels, p.weights.data(), nullptr, p.src.data(), dst.data(), activation, 1);
    for (std::int64_t i = 0; i < 8 * 16; ++i) {
      EXPECT_EQ(std::isnan(dst[i]), i == 2 * 16 + 5) << i;
    }
    EXPECT_EQ(dst[3 * 16 + 6], activated(activation, std::numeric_limits<double>::infinity()));
  }
}

}  // namespace
}  // namespace plait::kernels::sparse
