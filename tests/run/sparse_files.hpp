// A sparse network as files: a model .toml and the .mtx matrices beside it.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plait::run {

/// `degree` elements in every row, anywhere; row 5 and column 7 are empty.
inline void write_matrix(const std::filesystem::path& file, int rows, int columns, int degree) {
  std::string lines;
  int elements = 0;
  std::uint32_t noise = 12345 + static_cast<std::uint32_t>(rows);
  for (int row = 0; row < rows; ++row) {
    std::vector<bool> has(static_cast<std::size_t>(columns), false);
    for (int k = 0; k < degree && row != 5; ++k) {
      noise = noise * 1664525 + 1013904223;
      const int column = static_cast<int>(noise >> 8) % columns;
      if (column == 7 || has[static_cast<std::size_t>(column)]) continue;
      has[static_cast<std::size_t>(column)] = true;
      lines += fmt::format("{} {}\n", row + 1, column + 1);
      ++elements;
    }
  }
  std::ofstream(file) << "%%MatrixMarket matrix coordinate pattern general\n"
                      << fmt::format("{} {} {}\n", rows, columns, elements) << lines;
}

/// 784 inputs, sparse layers of 48, 40 and 32 rows with this activation, one dense layer, a head.
inline std::string write_sparse_model(const std::filesystem::path& folder,
                                      const std::string& activation) {
  std::string text;
  const std::vector<int> widths{784, 48, 40, 32};
  const std::vector<int> degrees{60, 9, 7};
  for (std::size_t k = 1; k < widths.size(); ++k) {
    const std::string matrix = fmt::format("w{}.mtx", k);
    write_matrix(folder / matrix, widths[k], widths[k - 1], degrees[k - 1]);
    text += fmt::format(
        "[[block]]\nname = \"s{}\"\nlayers = [{}{{type = \"sparse_linear\", matrix = "
        "\"{}\"}}, {{type = \"{}\"}}]\n",
        k, k == 1 ? "{type = \"flatten\"}, " : "", matrix, activation);
  }
  text += "[[block]]\nlayers = [{type = \"linear\", out = 24}, {type = \"tanh\"}]\n";
  text += "[[block]]\nname = \"head\"\nlayers = [{type = \"linear\", out = \"classes\"}]\n";
  const std::filesystem::path file = folder / (activation + ".toml");
  std::ofstream(file) << text;
  return file.string();
}

}  // namespace plait::run
