// The program's verbs once more, for other readers than --help's: man and bash.
#pragma once

#include <string>

#include "cli/verb.hpp"

namespace plait::cli {

/// A page for man (troff, -man): every verb with its options and examples.
std::string man_page(const Verb& program, const std::string& version);

/// A script for bash: completes verbs, flags, and names of strategies; files elsewhere.
std::string bash_completion(const Verb& program);

}  // namespace plait::cli
