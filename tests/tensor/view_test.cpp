// A view hands out its memory as the type it has, and as no other.
#include "tensor/view.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "base/error.hpp"

namespace plait::tensor {
namespace {

static_assert(std::is_trivially_copyable_v<View> && sizeof(View) == 2 * sizeof(void*));

TEST(ViewTest, GivesTheMemoryOfItsTensor) {
  Tensor ids(Shape{2, 3}, DType::i32);
  const View view = ids;
  view.as<std::int32_t>()[4] = 7;
  EXPECT_EQ(ids.as<std::int32_t>()[4], 7);
  const ConstView read = view;
  EXPECT_EQ(read.as<std::int32_t>(), ids.as<std::int32_t>().data());
  EXPECT_EQ(&read.desc(), &ids.desc());
}

TEST(ViewTest, RefusesAnotherType) {
  const auto text_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  };
  Tensor ids(Shape{2, 3}, DType::i32);
  const View view = ids;
  EXPECT_EQ(text_of([&] { view.floats(); }), "a tensor 2x3 of i32 is used as f32");
  const ConstView read = view;
  EXPECT_EQ(text_of([&] { read.as<std::int64_t>(); }), "a tensor 2x3 of i32 is used as i64");
  const Tensor floats(Shape{4});
  EXPECT_EQ(text_of([&] { ConstView(floats).as<std::int32_t>(); }),
            "a tensor 4 of f32 is used as i32");
}

TEST(ViewTest, OfNothingHasNoMemory) {
  EXPECT_TRUE(View().empty());
  EXPECT_EQ(View().floats(), nullptr);
  EXPECT_EQ(ConstView().as<std::int32_t>(), nullptr);
}

}  // namespace
}  // namespace plait::tensor
