// ImageGroup: a few panels of images on their way through the layers, and whose values are in them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/sparse/panels.hpp"
#include "tensor/sparse_pattern.hpp"
#include "tensor/tensor.hpp"

namespace plait::kernels::sparse {

/// So many panels of so many images, of at most so many features each.
struct GroupSize {
  std::int64_t panels = 0;
  std::int64_t width = 0;
  std::int64_t features = 0;

  std::int64_t samples() const { return panels * width; }
  tensor::Shape shape() const { return {panels, features, width}; }
};

/// A sample holds an image, or nothing that counts. `features` below is of the values now.
class ImageGroup {
 public:
  explicit ImageGroup(const GroupSize& size);

  std::int64_t images() const { return images_; }
  bool full() const { return images_ == std::ssize(image_); }
  /// Up to the last one with an image.
  Panels panels() const;
  /// Aligned to 64 bytes.
  float* values() { return values_.floats().data(); }
  void swap_values(tensor::Tensor& other) { std::swap(values_, other); }

  /// Holds images first, first + 1, ... before last, 1 at their pixels; pixel j lies at place[j].
  void load(const tensor::SparsePattern& images, std::int64_t first, std::int64_t last,
            const std::vector<std::int32_t>& place);
  /// Lets go of the images without a non-zero value.
  void drop_dead(std::int64_t features);
  /// Images of `from` move here, all or as many as there is room for.
  void take(ImageGroup& from, std::int64_t features);
  /// Images move from the last places to free ones before them.
  void pack(std::int64_t features);
  /// Adds its images to `list` and lets go of them.
  void give_up(std::vector<std::int64_t>& list);

 private:
  /// Sample first of another group becomes second of this one.
  using Moves = std::vector<std::pair<std::int64_t, std::int64_t>>;

  void drop_dead_of_panel(std::int64_t panel, std::int64_t features);
  void move(ImageGroup& from, std::int64_t features, const Moves& moves);
  std::int64_t& image(std::int64_t sample) { return image_[static_cast<std::size_t>(sample)]; }
  bool is_free(std::int64_t sample) { return image(sample) < 0; }

  std::int64_t width_;
  tensor::Tensor values_;
  std::vector<std::int64_t> image_;  ///< of every sample; -1: nothing that counts
  std::int64_t images_ = 0;
};

}  // namespace plait::kernels::sparse
