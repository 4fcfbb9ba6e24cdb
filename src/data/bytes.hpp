// Bytes of files: whole files in memory and gzip decompression, with limits. Parsers work on the
// bytes in memory and know files only as a name for error messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace plait::data {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

/// Larger contents are refused rather than loaded.
constexpr std::size_t kContentLimit = std::size_t{1} << 34;

/// A whole regular file; UserError when it is missing, unreadable or above the limit.
Bytes read_file(const std::filesystem::path& path, std::size_t limit = kContentLimit);

/// As read_file, decompressed when the file begins like gzip, whatever its name says.
Bytes read_content(const std::filesystem::path& path, std::size_t limit = kContentLimit);

bool looks_like_gzip(ByteView bytes);

/// All members of a gzip stream; UserError naming `name` on damage, trailing bytes or more than
/// `limit` bytes of output. Memory grows with the real output, never with a size from a header.
Bytes gunzip(ByteView bytes, const std::string& name, std::size_t limit = kContentLimit);

}  // namespace plait::data
