// TensorDesc counts bytes with padding; Tensor owns, shares or views them.
#include "tensor/tensor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace plait::tensor {
namespace {

TEST(TensorDesc, BytesByType) {
  const Shape shape{2, 3};
  EXPECT_EQ((TensorDesc{shape, DType::f32}).bytes(), 24U);
  EXPECT_EQ((TensorDesc{shape, DType::bf16}).bytes(), 12U);
  EXPECT_EQ((TensorDesc{shape, DType::u8}).bytes(), 6U);
  EXPECT_EQ((TensorDesc{shape, DType::i32}).bytes(), 24U);
  EXPECT_EQ((TensorDesc{shape, DType::i64}).bytes(), 48U);
}

TEST(TensorDesc, BlockedLayoutsPadTheChannels) {
  const auto elements = [](std::int64_t channels, Layout layout) {
    return TensorDesc{{2, channels, 5, 7}, DType::f32, layout}.physical_elements();
  };
  EXPECT_EQ(elements(3, Layout::plain), 2 * 3 * 35);
  EXPECT_EQ(elements(3, Layout::blocked8), 2 * 8 * 35);
  EXPECT_EQ(elements(3, Layout::blocked16), 2 * 16 * 35);
  EXPECT_EQ(elements(16, Layout::blocked8), 2 * 16 * 35);
  EXPECT_EQ(elements(16, Layout::blocked16), 2 * 16 * 35);
  EXPECT_EQ(elements(17, Layout::blocked8), 2 * 24 * 35);
  EXPECT_EQ(elements(17, Layout::blocked16), 2 * 32 * 35);
  EXPECT_EQ((TensorDesc{{2, 17, 5, 7}, DType::bf16, Layout::blocked16}).bytes(), 2U * 32 * 35 * 2);
}

TEST(Tensor, BeginsAlignedAndZero) {
  for (std::int64_t size : {1, 3, 17, 1000}) {
    const Tensor tensor(Shape{size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
    EXPECT_TRUE(std::ranges::all_of(tensor.floats(), [](float x) { return x == 0; }));
    EXPECT_EQ(tensor.floats().size(), static_cast<std::size_t>(size));
  }
}

TEST(Tensor, CopiesShareTheBytes) {
  Tensor tensor(Shape{4});
  Tensor copy = tensor;
  copy.floats()[2] = 5;
  EXPECT_EQ(tensor.floats()[2], 5);
}

TEST(Tensor, ViewsBorrowTheBytes) {
  std::array<float, 6> memory{};
  Tensor view(TensorDesc{{2, 3}}, memory.data());
  view.floats()[5] = 7;
  EXPECT_EQ(memory[5], 7);
  EXPECT_FALSE(view.empty());
}

TEST(Tensor, EmptyUntilGivenAShape) {
  EXPECT_TRUE(Tensor().empty());
  EXPECT_FALSE(Tensor(Shape{0}).empty());
}

TEST(Names, AreTheWordsOfFilesAndMessages) { EXPECT_STREQ(name_of(DType::bf16), "bf16"); }

}  // namespace
}  // namespace plait::tensor
