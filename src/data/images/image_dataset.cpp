// Decodes the first images until memory is used up, and the others on demand.
#include "data/images/image_dataset.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "data/images/decode.hpp"
#include "data/parallel.hpp"

namespace plait::data {

namespace {

constexpr std::uint64_t kRandomBoxSalt = 0x626F78;
constexpr std::int64_t kAtATime = 512;  ///< images between two looks at the memory

}  // namespace

ImageDataset::ImageDataset(std::shared_ptr<const ImageFiles> files,
                           std::vector<LabelledImage> images, int classes,
                           const ImageOptions& options)
    : files_(std::move(files)), images_(std::move(images)), classes_(classes), options_(options) {
  if (options_.limit > 0 && options_.limit < size()) {
    images_.resize(static_cast<std::size_t>(options_.limit));
  }
  if (options_.size == ImageSize{}) find_size();
  sample_shape_ = {options_.grey ? 1 : 3, options_.size.height, options_.size.width};
  prepare_all();
}

Pixels ImageDataset::decoded(std::size_t index) const {
  const std::size_t number = images_[index].number;
  return decode_image(files_->read(number), files_->full_name(number), options_.grey ? 1 : 3);
}

void ImageDataset::find_size() {
  for (std::size_t i = 0; i < images_.size(); ++i) {
    try {
      const Pixels first = decoded(i);
      options_.size = {first.height, first.width};
      return;
    } catch (const UserError&) {
      if (!options_.skip_broken) throw;
    }
  }
  user_error("{}: none of {} images can be decoded", files_->full_name(images_.front().number),
             images_.size());
}

void ImageDataset::check_size(const Pixels& pixels, std::size_t index) const {
  const ImageSize wanted = options_.size;
  if (options_.scale || (pixels.height == wanted.height && pixels.width == wanted.width)) return;
  user_error("{}: {} x {} pixels, others {} x {}; give all one size by `image_size`",
             files_->full_name(images_[index].number), pixels.width, pixels.height, wanted.width,
             wanted.height);
}

Pixels ImageDataset::prepared(std::size_t index) const {
  Pixels pixels = decoded(index);
  check_size(pixels, index);
  if (is_random()) return pixels;
  Pixels sample{
      .height = options_.size.height, .width = options_.size.width, .channels = pixels.channels};
  sample.values.resize(static_cast<std::size_t>(sample_shape_.elements()));
  resample(pixels, middle_box(pixels, options_.size, options_.shorter), options_.size,
           sample.values);
  return sample;
}

void ImageDataset::prepare_all() {
  std::vector<bool> is_broken(images_.size());
  std::vector<std::string> reasons(images_.size());
  bool room = options_.memory > 0;
  for (std::int64_t begin = 0; begin < size() && (room || options_.skip_broken);
       begin += kAtATime) {
    const std::int64_t count = std::min(kAtATime, size() - begin);
    std::vector<std::optional<Pixels>> some(static_cast<std::size_t>(count));
    for_each_on(options_.threads, count, [&](std::int64_t i) {
      try {
        some[static_cast<std::size_t>(i)] = prepared(static_cast<std::size_t>(begin + i));
      } catch (const UserError& error) {
        if (!options_.skip_broken) throw;
        reasons[static_cast<std::size_t>(begin + i)] = error.what();
      }
    });
    for (std::int64_t i = 0; i < count; ++i) {
      std::optional<Pixels>& one = some[static_cast<std::size_t>(i)];
      if (!one) {
        is_broken[static_cast<std::size_t>(begin + i)] = true;
        broken_.push_back(reasons[static_cast<std::size_t>(begin + i)]);
        continue;
      }
      const auto bytes = static_cast<std::int64_t>(one->values.size() + sizeof(Pixels));
      room = room && held_bytes_ + bytes <= options_.memory;
      if (!room) continue;
      held_bytes_ += bytes;
      decoded_.push_back(std::move(*one));
    }
  }
  held_ = static_cast<std::int64_t>(decoded_.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (!is_broken[i]) images_[kept++] = images_[i];
  }
  images_.resize(kept);
  if (images_.empty()) user_error("{}: no image can be decoded", broken_.front());
}

void ImageDataset::get(std::int64_t index, std::uint64_t epoch, Sample out) const {
  const auto at = static_cast<std::size_t>(index);
  const bool held = index < held_;
  const Pixels streamed = held ? Pixels{} : prepared(at);
  const Pixels& pixels = held ? decoded_[at] : streamed;
  Bytes cropped;
  if (is_random()) {
    Rng rng(options_.seed ^ kRandomBoxSalt, Purpose::augment, epoch,
            static_cast<std::uint64_t>(index));
    cropped.resize(out.image.size());
    resample(pixels, random_box(pixels, options_.least_crop, rng), options_.size, cropped);
  }
  const Bytes& bytes = is_random() ? cropped : pixels.values;
  for (std::size_t i = 0; i < out.image.size(); ++i) {
    out.image[i] = static_cast<float>(bytes[i]) * (1.0F / 255.0F);
  }
  out.target[0] = static_cast<float>(images_[at].label);
}

}  // namespace plait::data
