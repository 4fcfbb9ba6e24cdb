// Copies a sample out of memory; bytes become floats in [0, 1].
#include "data/memory.hpp"

#include <algorithm>
#include <cassert>

#include "base/error.hpp"

namespace plait::data {

MemoryDataset::MemoryDataset(MemoryData data)
    : data_(std::move(data)),
      image_elements_(static_cast<std::size_t>(data_.sample_shape.elements())),
      target_elements_(static_cast<std::size_t>(data_.target_shape.elements())) {
  const std::size_t images = std::visit([](const auto& v) { return v.size(); }, data_.images);
  if (image_elements_ == 0 || target_elements_ == 0 || images % image_elements_ != 0 ||
      data_.targets.size() != images / image_elements_ * target_elements_) {
    fail("dataset in memory: {} image elements and {} target elements do not fit {} and {}", images,
         data_.targets.size(), data_.sample_shape, data_.target_shape);
  }
  size_ = static_cast<std::int64_t>(images / image_elements_);
}

void MemoryDataset::get(std::int64_t index, std::uint64_t, Sample out) const {
  assert(index >= 0 && index < size_);
  assert(out.image.size() + out.ids.size() == image_elements_);
  assert(out.target.size() == target_elements_);
  const auto at = static_cast<std::size_t>(index);
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&data_.images)) {
    const std::uint8_t* src = bytes->data() + at * image_elements_;
    float* dst = out.image.data();
    for (std::size_t i = 0; i < image_elements_; ++i) {
      dst[i] = static_cast<float>(src[i]) * (1.0F / 255.0F);
    }
  } else if (const auto* ids = std::get_if<std::vector<std::int32_t>>(&data_.images)) {
    std::copy_n(ids->data() + at * image_elements_, image_elements_, out.ids.data());
  } else {
    const auto& floats = std::get<std::vector<float>>(data_.images);
    std::copy_n(floats.data() + at * image_elements_, image_elements_, out.image.data());
  }
  std::copy_n(data_.targets.data() + at * target_elements_, target_elements_, out.target.data());
}

}  // namespace plait::data
