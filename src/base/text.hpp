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
/// The first `left` columns to the left, the others to the right; two spaces between.
std::string table(const std::vector<Row>& rows, std::size_t left);

}  // namespace plait
