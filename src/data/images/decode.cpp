// JPEG by libturbojpeg, PNG by libpng's simplified interface.
#include "data/images/decode.hpp"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/error.hpp"

namespace plait::data {

namespace {

constexpr std::array<std::uint8_t, 3> kJpegBegin{0xFF, 0xD8, 0xFF};
constexpr std::array<std::uint8_t, 4> kPngBegin{0x89, 'P', 'N', 'G'};

template <std::size_t N>
bool begins_with(ByteView bytes, const std::array<std::uint8_t, N>& begin) {
  return bytes.size() >= N && std::equal(begin.begin(), begin.end(), bytes.begin());
}

Pixels blank(std::int64_t height, std::int64_t width, int channels, const std::string& name) {
  if (height < 1 || width < 1 || height > kPixelLimit / width) {
    user_error("{}: an image of {} x {} pixels; at most {} pixels can be read", name, width, height,
               kPixelLimit);
  }
  Pixels pixels{
      .height = static_cast<int>(height), .width = static_cast<int>(width), .channels = channels};
  pixels.values.resize(static_cast<std::size_t>(height * width * channels));
  return pixels;
}

struct CloseJpeg {
  void operator()(void* handle) const { tjDestroy(handle); }
};

Pixels decode_jpeg(ByteView bytes, const std::string& name, int channels) {
  const std::unique_ptr<void, CloseJpeg> handle(tjInitDecompress());
  if (!handle) fail("libturbojpeg cannot begin: {}", tjGetErrorStr2(nullptr));
  int width = 0;
  int height = 0;
  int sampling = 0;
  int colours = 0;
  const auto size = static_cast<unsigned long>(bytes.size());
  if (tjDecompressHeader3(handle.get(), bytes.data(), size, &width, &height, &sampling, &colours) !=
      0) {
    user_error("{}: not a readable JPEG image: {}", name, tjGetErrorStr2(handle.get()));
  }
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
    user_error("{}: a JPEG image for print (CMYK); convert it to RGB", name);
  }
  Pixels pixels = blank(height, width, channels, name);
  const int format = channels == 1 ? TJPF_GRAY : TJPF_RGB;
  const int status = tjDecompress2(handle.get(), bytes.data(), size, pixels.values.data(), width, 0,
                                   height, format, TJFLAG_ACCURATEDCT);
  if (status == 0) return pixels;
  // Warnings: bytes between markers are harmless, a missing end or damaged data is not.
  const std::string_view reason = tjGetErrorStr2(handle.get());
  const bool harmless = tjGetErrorCode(handle.get()) == TJERR_WARNING &&
                        reason.find("xtraneous bytes") != std::string_view::npos;
  if (!harmless) user_error("{}: damaged JPEG image: {}", name, reason);
  return pixels;
}

Pixels to_grey(const Pixels& colour) {
  Pixels grey{.height = colour.height, .width = colour.width, .channels = 1};
  grey.values.reserve(colour.values.size() / 3);
  for (std::size_t i = 0; i < colour.values.size(); i += 3) {
    const unsigned luma = 19595U * colour.values[i] + 38470U * colour.values[i + 1] +
                          7471U * colour.values[i + 2] + 0x8000U;
    grey.values.push_back(static_cast<std::uint8_t>(luma >> 16U));
  }
  return grey;
}

Pixels decode_png(ByteView bytes, const std::string& name, int channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    user_error("{}: not a readable PNG image: {}", name, image.message);
  }
  const std::unique_ptr<png_image, decltype(&png_image_free)> freed(&image, png_image_free);
  image.format = PNG_FORMAT_RGB;
  Pixels pixels = blank(image.height, image.width, 3, name);
  if (png_image_finish_read(&image, nullptr, pixels.values.data(), 0, nullptr) == 0) {
    user_error("{}: damaged PNG image: {}", name, image.message);
  }
  return channels == 1 ? to_grey(pixels) : pixels;
}

}  // namespace

Pixels decode_image(ByteView bytes, const std::string& name, int channels) {
  if (begins_with(bytes, kJpegBegin)) return decode_jpeg(bytes, name, channels);
  if (begins_with(bytes, kPngBegin)) return decode_png(bytes, name, channels);
  user_error("{}: neither a JPEG nor a PNG image ({} bytes)", name, bytes.size());
}

}  // namespace plait::data
