// Numbers with separators and units, wrapped lines, and tables whose cells are broken to fit a
// width.
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace plait {

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string duration(double seconds) {
  constexpr double longest = 1e9;
  const auto whole = static_cast<std::int64_t>(
      std::isfinite(seconds) ? std::clamp(seconds, 0.0, longest) + 0.5 : longest);
  const std::int64_t hours = whole / 3600;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60)
                   : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string with_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::vector<std::string> wrapped_lines(const std::string& text, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (at > 0 && lines.back().size() + 1 + word.size() > width) {
      lines.push_back(word);
    } else {
      lines.back() += (at > 0 ? " " : "") + word;
    }
    at = end + 1;
  }
  return lines;
}

namespace {

/// Breaks cells of the widest left column until all columns fit into `most`, as far as words let.
std::vector<std::size_t> fit(std::vector<std::size_t> widths, const std::vector<Row>& rows,
                             std::size_t left, std::size_t most) {
  std::vector<std::size_t> least(std::min(left, widths.size()), 0);
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < std::min(least.size(), row.size()); ++c) {
      for (const std::string& word : wrapped_lines(row[c], 0)) {
        least[c] = std::max(least[c], word.size());
      }
    }
  }
  std::size_t total = 2 * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  for (; total > most; --total) {
    std::size_t widest = least.size();
    for (std::size_t c = 0; c < least.size(); ++c) {
      if (widths[c] <= least[c]) continue;
      if (widest == least.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == least.size()) break;
    --widths[widest];
  }
  return widths;
}

/// One row as lines of cells: the first with all of them, more where cells are broken.
std::vector<Row> lines_of(const Row& row, const std::vector<std::size_t>& widths,
                          std::size_t left) {
  std::vector<Row> lines(1, Row(row.size()));
  for (std::size_t c = 0; c < row.size(); ++c) {
    const std::vector<std::string> parts =
        c < left ? wrapped_lines(row[c], widths[c]) : std::vector<std::string>{row[c]};
    lines.resize(std::max(lines.size(), parts.size()), Row(row.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) lines[i][c] = parts[i];
  }
  return lines;
}

}  // namespace

std::string table(const std::vector<Row>& rows, std::size_t left, std::size_t most) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  if (most > 0 && !widths.empty()) widths = fit(std::move(widths), rows, left, most);
  std::string text;
  for (const Row& row : rows) {
    for (const Row& cells : lines_of(row, widths, left)) {
      std::string line;
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (c > 0) line += "  ";
        line += c < left ? fmt::format("{:<{}}", cells[c], widths[c])
                         : fmt::format("{:>{}}", cells[c], widths[c]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  }
  return text;
}

}  // namespace plait
