// The words for augmentations, as they stand in flags and TOML files.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "data/open.hpp"

namespace plait::data {

namespace {

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::int64_t parse_padding(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1 << 20) {
    user_error("augmentation pad-crop '{}': write the padding in pixels, for example pad-crop 4",
               text);
  }
  return value;
}

double parse_least(std::string_view text) {
  if (text.empty()) return 0.08;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 1)) {
    user_error(
        "augmentation random-resized-crop '{}': write the least part of the area, above 0 and at "
        "most 1, for example random-resized-crop 0.25",
        text);
  }
  return value;
}

void add_word(std::string_view word, Augmentation& out) {
  const std::size_t split = std::min(word.find_first_of(" :"), word.size());
  const std::string_view name = word.substr(0, split);
  const std::string_view rest = split < word.size() ? trim(word.substr(split + 1)) : "";
  if (name == "pad-crop") {
    out.pad_crop = parse_padding(rest);
  } else if (name == "flip" && rest.empty()) {
    out.flip = true;
  } else if (name == "random-resized-crop") {
    out.resized_crop = parse_least(rest);
  } else {
    user_error(
        "augmentation '{}' is unknown{}; there are: pad-crop N, flip, random-resized-crop [LEAST]",
        word, did_you_mean(name, {"pad-crop", "flip", "random-resized-crop"}));
  }
}

}  // namespace

Augmentation parse_augmentation(const std::string& text) {
  Augmentation out;
  std::string_view left = trim(text);
  if (left.empty() || left == "none") return out;
  while (true) {
    const std::size_t comma = std::min(left.find(','), left.size());
    add_word(trim(left.substr(0, comma)), out);
    if (comma == left.size()) return out;
    left = left.substr(comma + 1);
  }
}

std::string to_string(const Augmentation& augmentation) {
  std::string text;
  if (augmentation.pad_crop > 0) text = fmt::format("pad-crop {}", augmentation.pad_crop);
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : ", ") + word; };
  if (augmentation.flip) add("flip");
  if (augmentation.resized_crop > 0) {
    add(fmt::format("random-resized-crop {}", augmentation.resized_crop));
  }
  return text.empty() ? "none" : text;
}

}  // namespace plait::data
