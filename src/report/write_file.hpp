// A finished text as a file.
#pragma once

#include <string>

namespace plait::report {

/// Whole or not at all, as base/out_file.hpp says.
void write_file(const std::string& path, const std::string& text);

}  // namespace plait::report
