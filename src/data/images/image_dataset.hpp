// ImageDataset: images of files, all at one size. Decoded once into memory as far as that is
// allowed; the others are decoded whenever they are asked for, to the same bits.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/image_files.hpp"
#include "data/images/resample.hpp"

namespace plait::data {

struct ImageOptions {
  ImageSize size{};   ///< of all images; {}: that of the first
  bool scale = true;  ///< to that size; false: all must have it
  int shorter = 0;    ///< pixels of the shorter side before the middle is cut out; 0: just fits
  bool grey = false;
  /// Of random crops, the least part of the area; 0: the middle.
  double least_crop = 0;
  std::uint64_t seed = 1;
  bool skip_broken = false;  ///< leave out what cannot be decoded
  std::int64_t memory = 0;   ///< bytes for decoded images
  int threads = 1;           ///< that decode at the beginning
  std::int64_t limit = 0;    ///< the first so many images only; 0: all
};

class ImageDataset final : public Dataset {
 public:
  /// UserError naming the image where one is broken or of another size than the others.
  ImageDataset(std::shared_ptr<const ImageFiles> files, std::vector<LabelledImage> images,
               int classes, const ImageOptions& options);

  std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  const tensor::Shape& sample_shape() const override { return sample_shape_; }
  const tensor::Shape& target_shape() const override { return target_shape_; }
  int classes() const override { return classes_; }
  bool is_slow() const override { return held_ < size(); }
  void get(std::int64_t index, std::uint64_t epoch, Sample out) const override;

  /// What was left out, by name and reason.
  const std::vector<std::string>& broken() const { return broken_; }
  /// Images that are held decoded: the first ones.
  std::int64_t held() const { return held_; }
  /// Bytes they take.
  std::int64_t held_bytes() const { return held_bytes_; }
  ImageSize image_size() const { return options_.size; }

 private:
  /// As held: whole where crops are random, else the bytes of a sample.
  Pixels prepared(std::size_t index) const;
  Pixels decoded(std::size_t index) const;
  void check_size(const Pixels& pixels, std::size_t index) const;
  void find_size();
  void prepare_all();
  bool is_random() const { return options_.least_crop > 0; }

  std::shared_ptr<const ImageFiles> files_;
  std::vector<LabelledImage> images_;
  int classes_;
  ImageOptions options_;
  tensor::Shape sample_shape_{1};
  tensor::Shape target_shape_{1};
  std::vector<Pixels> decoded_;
  std::int64_t held_ = 0;
  std::int64_t held_bytes_ = 0;
  std::vector<std::string> broken_;
};

}  // namespace plait::data
