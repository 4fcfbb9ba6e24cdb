// Tensor: typed, shaped memory. A TensorDesc says how the bytes lie; a Tensor adds the bytes,
// shared by copies of the Tensor. Layers compute on views (view.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tensor/shape.hpp"

namespace plait::tensor {

enum class DType { f32, bf16, u8, i32, i64 };

std::size_t size_of(DType dtype);
/// "f32".
const char* name_of(DType dtype);

/// How the elements of an activation lie in memory. `plain` is row-major in the order of the shape;
/// blocked ones hold for rank 4 (N, C, H, W) only and pad C up to the block with zeros; panels hold
/// for rank 2 (N, features): samples innermost, [panels][features][panel width], the padding
/// samples finite in activations and zero in gradients.
enum class Layout { plain, blocked8, blocked16, panels };

const char* name_of(Layout layout);
/// Channels that lie together: 8, 16, or 1 where the layout is plain.
std::int64_t channel_block(Layout layout);

/// How many samples a panel holds: a multiple of 16 up to 64, all panels of a batch equally wide.
std::int64_t panel_width(std::int64_t samples);
std::int64_t panel_count(std::int64_t samples);

struct TensorDesc {
  Shape shape;
  DType dtype = DType::f32;
  Layout layout = Layout::plain;

  /// Elements in memory, padding included.
  std::int64_t physical_elements() const;
  std::size_t bytes() const;
  bool operator==(const TensorDesc&) const = default;
};

/// 64-byte aligned memory that frees itself.
std::shared_ptr<std::byte> allocate_bytes(std::size_t bytes);

class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled.
  explicit Tensor(TensorDesc desc);
  explicit Tensor(Shape shape, DType dtype = DType::f32)
      : Tensor(TensorDesc{std::move(shape), dtype}) {}
  /// A view of memory that somebody else keeps alive.
  Tensor(TensorDesc desc, void* data);

  const TensorDesc& desc() const { return desc_; }
  const Shape& shape() const { return desc_.shape; }
  std::size_t bytes() const { return desc_.bytes(); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }

  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(desc_.physical_elements())};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()),
            static_cast<std::size_t>(desc_.physical_elements())};
  }
  std::span<float> floats() { return as<float>(); }
  std::span<const float> floats() const { return as<float>(); }
  bool empty() const { return data_ == nullptr; }

 private:
  TensorDesc desc_;
  std::shared_ptr<std::byte> data_;
};

}  // namespace plait::tensor
