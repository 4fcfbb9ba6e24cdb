// The size rules of the house, on a source tree: how long a file may be, and how many parameters a
// function may have. They read text, not C++: macros are not followed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plait::house {

/// "file: N lines" for every file below `folder` with more than `most`.
std::vector<std::string> files_longer_than(const std::filesystem::path& folder, int most);

/// "file:line: name has N parameters" for every declaration below `folder` with more than `most`.
/// Calls and lambdas are not looked at.
std::vector<std::string> functions_with_more_parameters_than(const std::filesystem::path& folder,
                                                             int most);

}  // namespace plait::house
