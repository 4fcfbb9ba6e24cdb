// Any bytes are a request or a refused one; a path that comes out begins with '/' and has no query.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "report/http_connection.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const plait::HttpRequest request =
      plait::parse_request(std::string(reinterpret_cast<const char*>(data), size));
  if (request.refused != 0) return 0;
  if (!request.path.starts_with('/') || request.path.find('?') != std::string::npos) std::abort();
  return 0;
}
