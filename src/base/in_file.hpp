// Files to read: only regular ones. Opening a FIFO waits for a writer, a device may never end.
#pragma once

#include <filesystem>
#include <string>

namespace plait {

/// "a folder", "a FIFO", "a device", "a socket"; "" for a regular file and where there is nothing.
std::string kind_of_no_file(const std::filesystem::path& path);

/// UserError where `path` exists and is no regular file; links are followed.
void check_input_file(const std::filesystem::path& path);

}  // namespace plait
