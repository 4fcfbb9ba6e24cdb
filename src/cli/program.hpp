// The program: words of a command line in, exit code out.
#pragma once

#include <string>
#include <vector>

namespace plait::cli {

/// Exit codes: 0, 2 for the user's mistakes, 1 for failures, 128 + n after signal n. Every error is
/// one line on stderr that begins with "plait: ".
int run_program(const std::vector<std::string>& words);

}  // namespace plait::cli
