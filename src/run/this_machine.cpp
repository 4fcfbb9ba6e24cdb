// The processor's name from /proc/cpuinfo, and a hash of the running program.
#include "run/this_machine.hpp"

#include <array>
#include <fstream>

#include "base/hash.hpp"

namespace plait::run {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::string program_hash() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  Hash hash;
  std::array<char, 1 << 16> piece{};
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    hash.add(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  return file.is_open() ? hash.hex() : "";
}

}  // namespace plait::run
