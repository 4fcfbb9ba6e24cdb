// Dataset: numbered samples, each an image (a row of features, token ids) and a target. An
// interface of small readers and decorators; batches, order and threads live elsewhere (batch.hpp,
// prefetch.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tensor/tensor.hpp"

namespace plait::data {

/// Where get() writes: exactly sample_shape() and target_shape() elements, owned by the caller.
struct Sample {
  std::span<float> image;  ///< empty where samples are ids
  std::span<float> target;
  std::span<std::int32_t> ids{};  ///< empty where they are not
};

/// get() may be called from several threads at once: implementations hold no hidden mutable state.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  /// {C, H, W} or {F}.
  virtual const tensor::Shape& sample_shape() const = 0;
  /// f32, or i32: token ids, of which get() writes `ids`.
  virtual tensor::DType sample_type() const { return tensor::DType::f32; }
  /// {1} for classification (the class index, exact in a float); {H, W} where each pixel of the
  /// image has one, or one below 0 if it does not count; the target's own shape for regression.
  virtual const tensor::Shape& target_shape() const = 0;
  /// 0 means regression.
  virtual int classes() const = 0;
  /// 0 <= index < size(). `epoch` matters to augmenting decorators only.
  virtual void get(std::int64_t index, std::uint64_t epoch, Sample out) const = 0;
  /// Whether get() takes long enough to be worth several threads.
  virtual bool is_slow() const { return false; }
};

/// Whether each pixel has a label.
inline bool labels_pixels(const Dataset& dataset) {
  return dataset.classes() > 0 && dataset.target_shape().rank() == 2;
}

using DatasetPtr = std::shared_ptr<const Dataset>;

/// A dataset seen through another: passes everything on until a method is overridden.
class Decorator : public Dataset {
 public:
  explicit Decorator(DatasetPtr inner) : inner_(std::move(inner)) {}

  std::int64_t size() const override { return inner_->size(); }
  const tensor::Shape& sample_shape() const override { return inner_->sample_shape(); }
  tensor::DType sample_type() const override { return inner_->sample_type(); }
  const tensor::Shape& target_shape() const override { return inner_->target_shape(); }
  int classes() const override { return inner_->classes(); }
  bool is_slow() const override { return inner_->is_slow(); }
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override {
    inner_->get(index, epoch, out);
  }

 protected:
  const Dataset& inner() const { return *inner_; }

 private:
  DatasetPtr inner_;
};

}  // namespace plait::data
