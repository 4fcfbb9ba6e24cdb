// Agreement: the processes of an MPI job find out together whether all of them can begin. Where one
// cannot, all end with its exit code, and one of them says why.
#pragma once

#include <exception>
#include <string>

#include "transport/group.hpp"

namespace plait::session {

/// Thrown in the processes that have nothing to say: end with this code, quietly.
struct QuietExit {
  int code = 1;
};

/// What a process brings: an error, or the text that must be equal on all of them.
struct Standing {
  std::exception_ptr error{};
  std::string text{};  ///< compared by hash
  std::string what{};  ///< "settings": what the text is, for the message
};

/// Every process calls it. Returns where all is well. Otherwise the first process with an error (or
/// the first whose text differs from worker 0's) throws, the others throw QuietExit.
void agree(transport::Group& control, const Standing& standing);

}  // namespace plait::session
