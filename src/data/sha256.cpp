// SHA-256 by libcrypto.
#include "data/sha256.hpp"

#include <openssl/evp.h>

#include <array>

#include "base/error.hpp"

namespace plait::data {

std::string sha256_hex(ByteView bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    fail("SHA-256 is not available in the OpenSSL of this machine");
  }
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace plait::data
