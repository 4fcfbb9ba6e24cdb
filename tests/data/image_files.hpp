// Images and archives that tests write.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <png.h>
#include <turbojpeg.h>

#include <filesystem>
#include <map>

#include "data/images/pixels.hpp"
#include "temp_folder.hpp"

namespace plait::data::test {

inline Pixels noise_image(int height, int width, std::uint32_t seed, int channels = 3) {
  Pixels pixels{.height = height, .width = width, .channels = channels};
  std::uint32_t noise = seed * 7919 + 1;
  for (int i = 0; i < height * width * channels; ++i) {
    noise = noise * 1664525 + 1013904223;
    pixels.values.push_back(static_cast<std::uint8_t>(noise >> 24));
  }
  return pixels;
}

inline Bytes png_of(const Pixels& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = pixels.channels == 1   ? PNG_FORMAT_GRAY
                 : pixels.channels == 4 ? PNG_FORMAT_RGBA
                                        : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.values.data(), 0, nullptr);
  Bytes bytes(size);
  png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.values.data(), 0, nullptr);
  return bytes;
}

inline Bytes jpeg_of(const Pixels& pixels, int quality = 95) {
  tjhandle handle = tjInitCompress();
  unsigned char* encoded = nullptr;
  unsigned long size = 0;
  tjCompress2(handle, pixels.values.data(), pixels.width, 0, pixels.height, TJPF_RGB, &encoded,
              &size, TJSAMP_444, quality, 0);
  Bytes bytes(encoded, encoded + size);
  tjFree(encoded);
  tjDestroy(handle);
  return bytes;
}

using NamedFiles = std::map<std::string, Bytes>;

inline void write_files(const std::filesystem::path& folder, const NamedFiles& files) {
  for (const auto& [name, bytes] : files) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_text(folder / name, std::string(bytes.begin(), bytes.end()));
  }
}

enum class Compression { none, gzip, zstd };

inline void write_tar(const std::filesystem::path& file, const NamedFiles& files,
                      Compression compression) {
  archive* out = archive_write_new();
  archive_write_set_format_pax_restricted(out);
  if (compression == Compression::gzip) archive_write_add_filter_gzip(out);
  if (compression == Compression::zstd) archive_write_add_filter_zstd(out);
  archive_write_open_filename(out, file.c_str());
  for (const auto& [name, bytes] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(out, entry);
    archive_write_data(out, bytes.data(), bytes.size());
    archive_entry_free(entry);
  }
  archive_write_free(out);
}

/// `each` images of every class in train/, a third of that in test/, PNG and JPEG in turn.
inline NamedFiles two_classes(int height, int width, int each = 6) {
  NamedFiles files;
  std::uint32_t seed = 0;
  for (const std::string split : {"train", "test"}) {
    for (const std::string of : {"cat", "dog"}) {
      for (int i = 0; i < (split == "train" ? each : each / 3); ++i) {
        const Pixels pixels = noise_image(height, width, ++seed);
        const std::string name = split + "/" + of + "/" + std::to_string(i);
        if (i % 2 == 0) files[name + ".png"] = png_of(pixels);
        if (i % 2 == 1) files[name + ".jpg"] = jpeg_of(pixels);
      }
    }
  }
  return files;
}

}  // namespace plait::data::test
