// Shapes: arithmetic, text and back.
#include "tensor/shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace plait::tensor {
namespace {

TEST(Shape, Elements) {
  EXPECT_EQ((Shape{3, 32, 32}).elements(), 3072);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{5, 0}).elements(), 0);
}

TEST(Shape, Front) {
  const Shape sample{3, 4};
  EXPECT_EQ(sample.with_front(8), (Shape{8, 3, 4}));
  EXPECT_EQ(sample.with_front(8).without_front(), sample);
  EXPECT_EQ(Shape{}.with_front(8), Shape{8});
}

TEST(Shape, Text) {
  EXPECT_EQ((Shape{3, 32, 32}).to_string(), "3x32x32");
  EXPECT_EQ(Shape{7}.to_string(), "7");
  EXPECT_EQ(Shape{}.to_string(), "scalar");
  EXPECT_EQ(fmt::format("{}", Shape{1, 2}), "1x2");
}

TEST(ParseShape, ReadsWhatItWrites) {
  EXPECT_EQ(parse_shape("3x32x32"), (Shape{3, 32, 32}));
  EXPECT_EQ(parse_shape("784"), Shape{784});
  EXPECT_EQ(parse_shape("1099511627776"), Shape{std::int64_t{1} << 40});
}

class BadShape : public testing::TestWithParam<std::string> {};

TEST_P(BadShape, IsRefusedAndQuoted) {
  try {
    parse_shape(GetParam());
    FAIL() << "did not throw";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'" + GetParam() + "' is not a shape"));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BadShape,
                         testing::Values("", "x", "3x", "x3", "3xx3", "3x-1", "0", "3x0x3", "+3",
                                         "3.5", "3X3", "3 x 3", " 3", "3x3 ", "axb",
                                         "1099511627777", "1048576x1048577",
                                         "99999999999999999999"));

}  // namespace
}  // namespace plait::tensor
