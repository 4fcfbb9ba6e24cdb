// A small text file in one piece, names out of it made fit for a message, and the limits of what
// the profiles of every format may say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plait::cost {

inline constexpr std::size_t kMaxProfileBytes = std::size_t{256} << 20;
inline constexpr double kMaxMilliseconds = 1e9;
inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 24;

/// UserError where the file cannot be read or is larger than a profile can be.
std::string read_text_file(const std::string& path);

/// In single quotes; bytes that are no plain ASCII as '?'; at most 60 of them, then "...".
std::string in_quotes(std::string_view name);

}  // namespace plait::cost
