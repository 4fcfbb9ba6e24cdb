// Names what a path is instead of a regular file: a folder, a FIFO, a device, a socket.
#include "base/in_file.hpp"

#include "base/error.hpp"

namespace plait {

namespace fs = std::filesystem;

std::string kind_of_no_file(const fs::path& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::directory: return "a folder";
    case fs::file_type::fifo: return "a FIFO";
    case fs::file_type::character:
    case fs::file_type::block: return "a device";
    case fs::file_type::socket: return "a socket";
    default: return "";
  }
}

void check_input_file(const fs::path& path) {
  const std::string kind = kind_of_no_file(path);
  if (!kind.empty()) user_error("{}: is {}; a regular file is needed", path.string(), kind);
}

}  // namespace plait
