// From words on a command line to the verb that is meant and its arguments.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.hpp"

namespace plait::cli {

struct Command {
  std::vector<const Verb*> path;  ///< the program, the verb, its verb if it has any
  Arguments arguments;
  bool help = false;  ///< --help was asked for the last of `path`
};

/// UserError, with the nearest name, on anything unknown; on a missing verb, value or argument.
/// Points into `program`. The last of a repeated flag counts.
Command parse_command_line(const Verb& program, const std::vector<std::string>& words);

}  // namespace plait::cli
