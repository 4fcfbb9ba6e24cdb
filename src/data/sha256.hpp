// SHA-256 of bytes, as 64 lower-case hexadecimal digits.
#pragma once

#include <string>

#include "data/bytes.hpp"

namespace plait::data {

std::string sha256_hex(ByteView bytes);

}  // namespace plait::data
