// A finished text as a file.
#pragma once

#include <string>

namespace plait {

/// UserError where the file cannot be made, Failure where it cannot be written to its end.
void write_file(const std::string& path, const std::string& text);

}  // namespace plait
