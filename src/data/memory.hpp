// MemoryDataset: all samples in memory, as bytes or as floats. What every reader returns.
#pragma once

#include <variant>
#include <vector>

#include "data/dataset.hpp"

namespace plait::data {

struct MemoryData {
  tensor::Shape sample_shape;
  /// Row-major, sample after sample. Bytes are read as value / 255; integers are token ids.
  std::variant<std::vector<std::uint8_t>, std::vector<float>, std::vector<std::int32_t>> images;
  tensor::Shape target_shape{1};
  std::vector<float> targets;
  int classes = 0;
};

class MemoryDataset final : public Dataset {
 public:
  /// Failure when images, targets and shapes do not fit each other (a reader's bug, not the
  /// user's).
  explicit MemoryDataset(MemoryData data);

  std::int64_t size() const override { return size_; }
  const tensor::Shape& sample_shape() const override { return data_.sample_shape; }
  tensor::DType sample_type() const override {
    const bool ids = std::holds_alternative<std::vector<std::int32_t>>(data_.images);
    return ids ? tensor::DType::i32 : tensor::DType::f32;
  }
  const tensor::Shape& target_shape() const override { return data_.target_shape; }
  int classes() const override { return data_.classes; }
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override;

  const MemoryData& data() const { return data_; }

 private:
  MemoryData data_;
  std::size_t image_elements_;
  std::size_t target_elements_;
  std::int64_t size_ = 0;
};

}  // namespace plait::data
