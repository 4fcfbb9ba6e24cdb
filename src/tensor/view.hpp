// View: where a tensor lies and how, without owning it: a pointer and its TensorDesc, which must
// outlive the view. What tasks of layers and blocks read and write.
#pragma once

#include "tensor/tensor.hpp"

namespace plait::tensor {

template <class T>
inline constexpr DType kDTypeOf = DType::f32;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::u8;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::i32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::i64;

/// Failure: a bug of ours, never a user's mistake.
[[noreturn]] void refuse_dtype(const TensorDesc& desc, DType wanted);

class ConstView {
 public:
  /// Of nothing: its pointers are null.
  ConstView() = default;
  ConstView(const void* data, const TensorDesc& desc) : data_(data), desc_(&desc) {}
  ConstView(const Tensor& tensor) : ConstView(tensor.data(), tensor.desc()) {}

  bool empty() const { return data_ == nullptr; }
  /// Not of nothing.
  const TensorDesc& desc() const { return *desc_; }
  const void* data() const { return data_; }

  /// Failure where the elements have another type.
  template <class T>
  const T* as() const {
    if (desc_ != nullptr && desc_->dtype != kDTypeOf<T>) refuse_dtype(*desc_, kDTypeOf<T>);
    return static_cast<const T*>(data_);
  }
  const float* floats() const { return as<float>(); }

 protected:
  const void* data_ = nullptr;
  const TensorDesc* desc_ = nullptr;
};

/// One that may be written through.
class View : public ConstView {
 public:
  View() = default;
  View(void* data, const TensorDesc& desc) : ConstView(data, desc) {}
  View(Tensor& tensor) : View(tensor.data(), tensor.desc()) {}

  void* data() const { return const_cast<void*>(data_); }
  template <class T>
  T* as() const {
    return const_cast<T*>(ConstView::as<T>());
  }
  float* floats() const { return as<float>(); }
};

}  // namespace plait::tensor
