// Where results are to be written: checked before the work, not after it.
#pragma once

#include <string>

namespace plait::cli {

/// For a file: UserError unless its folder exists and can be written to, when a folder, a socket or
/// a block device has that name, and when it does not end with `suffix` (a FIFO or a device may
/// have any name).
void check_file_place(const std::string& path, const std::string& flag,
                      const std::string& suffix = "");

/// For a new folder: UserError unless the folder it is to appear in exists and can be written to,
/// and when there is anything of that name. Gives the path without a slash at its end.
std::string check_new_folder(const std::string& path, const std::string& flag);

}  // namespace plait::cli
