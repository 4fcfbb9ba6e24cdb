// Where results are to appear: said before the work, not after it.
#pragma once

#include <string>

namespace plait {

/// UserError unless the folder in which `path` is to appear exists.
void check_place(const std::string& path, const std::string& flag);

/// The same of a file: no folder stands there, and it ends with `suffix`.
void check_file_place(const std::string& path, const std::string& flag,
                      const std::string& suffix = "");

}  // namespace plait
