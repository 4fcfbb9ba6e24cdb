// Averages an image down to characters of five or ten shades.
#include "cli/picture.hpp"

#include <algorithm>
#include <array>

#include "base/rounding.hpp"

namespace plait::cli {

namespace {

constexpr std::int64_t kWidest = 32;
constexpr std::array<const char*, 5> kBlocks{" ", "░", "▒", "▓", "█"};
constexpr std::array<const char*, 10> kLetters{" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};

struct Patch {
  std::int64_t top, bottom, left, right;
};

double mean(std::span<const float> image, const tensor::Shape& shape, const Patch& patch) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < shape[0]; ++c) {
    for (std::int64_t y = patch.top; y < std::min(patch.bottom, shape[1]); ++y) {
      for (std::int64_t x = patch.left; x < std::min(patch.right, shape[2]); ++x, ++count) {
        sum += image[static_cast<std::size_t>((c * shape[1] + y) * shape[2] + x)];
      }
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

template <std::size_t n>
const char* shade(double value, const std::array<const char*, n>& shades) {
  const double at = std::clamp(value, 0.0, 1.0) * static_cast<double>(n - 1) + 0.5;
  return shades[at >= 0 ? static_cast<std::size_t>(at) : 0];  // NaN compares false
}

}  // namespace

std::vector<std::string> picture(std::span<const float> image, const tensor::Shape& shape,
                                 bool unicode) {
  const auto [low, high] = std::ranges::minmax(image);
  const double range = high > low ? static_cast<double>(high) - low : 1;
  const std::int64_t size = divide_up(shape[2], kWidest);
  std::vector<std::string> lines;
  for (std::int64_t y = 0; y < shape[1]; y += 2 * size) {
    std::string line;
    for (std::int64_t x = 0; x < shape[2]; x += size) {
      const double value = (mean(image, shape, {y, y + 2 * size, x, x + size}) - low) / range;
      line += unicode ? shade(value, kBlocks) : shade(value, kLetters);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string side_by_side(const std::vector<std::vector<std::string>>& pictures,
                         const std::vector<std::string>& captions, std::size_t columns) {
  std::string text;
  if (pictures.empty()) return text;
  for (std::size_t row = 0; row < pictures.front().size(); ++row) {
    for (const auto& picture : pictures) text += picture[row] + "  ";
    text += '\n';
  }
  for (std::string caption : captions) {
    caption.resize(std::max(columns, caption.size()), ' ');
    text += caption + "  ";
  }
  return text + '\n';
}

}  // namespace plait::cli
