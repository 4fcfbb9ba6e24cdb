// Numbers and tables for people: thousands, durations, bytes, columns that line up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plait {

/// 1703258 -> "1,703,258".
std::string with_commas(std::int64_t number);
/// 65 -> "1:05", 3665 -> "1:01:05".
std::string duration(double seconds);
/// 1536 -> "1.5 KiB".
std::string with_bytes(std::int64_t bytes);

using Row = std::vector<std::string>;
/// The first `left` columns to the left, the others to the right; two spaces between. Lines longer
/// than `most` are avoided by breaking the widest of the left columns between words; 0: never.
std::string table(const std::vector<Row>& rows, std::size_t left, std::size_t most = 0);

/// In lines of at most `width` columns, broken between words; a longer word has a line of its own.
std::vector<std::string> wrapped_lines(const std::string& text, std::size_t width);

/// What every terminal shows without breaking lines itself.
inline constexpr std::size_t kLineColumns = 80;

}  // namespace plait
