#include "report/write_file.hpp"

#include <fstream>

#include "base/error.hpp"

namespace plait {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) user_error("{}: cannot be written; does its folder exist?", path);
  file << text;
  file.close();
  if (!file) fail("{}: could not be written to its end; is the disk full?", path);
}

}  // namespace plait
