// A small text file in one piece, and names out of it made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plait::cost {

constexpr std::size_t kMaxProfileBytes = std::size_t{256} << 20;

/// UserError where the file cannot be read or is larger than a profile can be.
std::string read_text_file(const std::string& path);

/// In single quotes; bytes that are no plain ASCII as '?'; at most 60 of them, then "...".
std::string in_quotes(std::string_view name);

}  // namespace plait::cost
