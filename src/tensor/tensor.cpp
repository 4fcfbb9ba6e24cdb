// Sizes of data types and layouts, with their padding, and aligned memory for tensors.
#include "tensor/tensor.hpp"

#include <cstring>
#include <new>

#include "base/rounding.hpp"
#include "tensor/poison.hpp"

namespace plait::tensor {

namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::bf16: return 2;
    case DType::u8: return 1;
    case DType::i64: return 8;
  }
  return 0;
}

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::bf16: return "bf16";
    case DType::u8: return "u8";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
  }
  return "?";
}

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::plain: return "plain";
    case Layout::blocked8: return "blocked8";
    case Layout::blocked16: return "blocked16";
    case Layout::panels: return "panels";
  }
  return "?";
}

std::int64_t channel_block(Layout layout) {
  return layout == Layout::blocked8 ? 8 : layout == Layout::blocked16 ? 16 : 1;
}

std::int64_t panel_count(std::int64_t samples) {
  constexpr std::int64_t kWidest = 64;
  return divide_up(samples, kWidest);
}

std::int64_t panel_width(std::int64_t samples) {
  constexpr std::int64_t kStrip = 16;
  const std::int64_t panels = panel_count(samples);
  return round_up(divide_up(samples, panels), kStrip);
}

std::int64_t TensorDesc::physical_elements() const {
  if (layout == Layout::panels) {
    return panel_count(shape[0]) * shape[1] * panel_width(shape[0]);
  }
  const std::int64_t elements = shape.elements();
  const std::int64_t block = channel_block(layout);
  return block == 1 ? elements : elements / shape[1] * round_up(shape[1], block);
}

std::size_t TensorDesc::bytes() const {
  return static_cast<std::size_t>(physical_elements()) * size_of(dtype);
}

std::shared_ptr<std::byte> allocate_bytes(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(
      ::operator new (bytes == 0 ? 1 : bytes, std::align_val_t{kAlignment}));
  if (poisons_memory()) poison({memory, bytes});
  return {memory, [](std::byte* p) { ::operator delete (p, std::align_val_t{kAlignment}); }};
}

Tensor::Tensor(TensorDesc desc) : desc_(std::move(desc)), data_(allocate_bytes(desc_.bytes())) {
  std::memset(data_.get(), 0, desc_.bytes());
}

Tensor::Tensor(TensorDesc desc, void* data)
    : desc_(std::move(desc)), data_(static_cast<std::byte*>(data), [](std::byte*) {}) {}

}  // namespace plait::tensor
