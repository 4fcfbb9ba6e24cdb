// The text of --help, from the same values that the command line is parsed with.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.hpp"

namespace plait::cli {

/// `path` leads from the program to the verb asked about.
std::string help_text(const std::vector<const Verb*>& path);

}  // namespace plait::cli
