// Small NPY files of token ids with a class each, and a network that reads them, for training runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plait {

/// A little-endian NPY file; `descr` is NumPy's word for T.
template <class T>
void write_npy(const std::filesystem::path& file, const std::string& descr,
               const std::string& shape, const std::vector<T>& values) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(118 - 1, ' ');
  header += '\n';
  std::ofstream out(file, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  out.put(static_cast<char>(header.size()));
  out.put(0);
  out << header;
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
}

inline constexpr int kTokenPositions = 6;
inline constexpr int kTokenVocabulary = 20;

/// 64 samples of 6 ids below 20 to train and 16 to test; class = how many of the first three are
/// odd. Gives the --data of them.
inline std::string token_files(const std::filesystem::path& parent) {
  const std::filesystem::path folder = parent / "tokens";
  std::filesystem::create_directories(folder);
  std::uint32_t noise = 4711;
  for (const auto& [split, samples] : {std::pair{"train", 64}, {"test", 16}}) {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> labels;
    for (int n = 0; n < samples; ++n) {
      std::int64_t odd = 0;
      for (int t = 0; t < kTokenPositions; ++t) {
        noise = noise * 1664525 + 1013904223;
        ids.push_back(static_cast<std::int32_t>((noise >> 16) % kTokenVocabulary));
        if (t < 3) odd += ids.back() % 2;
      }
      labels.push_back(odd);
    }
    const std::string count = std::to_string(samples);
    write_npy(folder / (std::string(split) + "_x.npy"), "<i4",
              "(" + count + ", " + std::to_string(kTokenPositions) + ")", ids);
    write_npy(folder / (std::string(split) + "_y.npy"), "<i8", "(" + count + ",)", labels);
  }
  return "npy:" + folder.string();
}

/// Embedding, linear on every row, a residual connection, and a head on all positions.
inline constexpr const char* kTokenModel = R"(
input = [6]
input_type = "int32"
[[block]]
name = "embedding"
layers = [{type = "embedding", vocabulary = 20, width = 8}]
[[block]]
name = "mix"
layers = [{type = "linear", out = 12}, {type = "relu"}, {type = "linear", out = 8}]
[[block]]
name = "sum"
inputs = ["mix", "embedding"]
layers = [{type = "add"}, {type = "layer_norm"}]
[[block]]
name = "head"
layers = [{type = "flatten"}, {type = "linear", out = "classes"}]
)";

}  // namespace plait
