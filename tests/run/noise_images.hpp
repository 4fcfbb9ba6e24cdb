// CIFAR-10 files of noise, so that small runs have images to learn from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace plait::run {

/// Colourful noise whose class shows in one corner.
inline void write_cifar(const std::filesystem::path& file, int records) {
  std::ofstream out(file, std::ios::binary);
  std::uint32_t noise = 12345;
  for (int i = 0; i < records; ++i) {
    const int label = i * 7 % 10;
    out.put(static_cast<char>(label));
    for (int p = 0; p < 3072; ++p) {
      noise = noise * 1664525 + 1013904223;
      const bool corner = p % 32 < 8 && p / 32 % 32 < 8;
      out.put(static_cast<char>(corner ? 25 * label : noise >> 24));
    }
  }
}

/// 64 of them to train and 16 to test, written when first wanted; gives the --data of them.
inline std::string noise_images(const std::filesystem::path& parent) {
  const std::filesystem::path folder = parent / "images";
  if (!std::filesystem::exists(folder)) {
    std::filesystem::create_directory(folder);
    write_cifar(folder / "data_batch_1.bin", 64);
    write_cifar(folder / "test_batch.bin", 16);
  }
  return "cifar10:" + folder.string();
}

}  // namespace plait::run
