// Decides which names mean this machine.
#include "report/host_name.hpp"

#include <arpa/inet.h>

namespace plait::report {

bool is_numeric_address(const std::string& address) {
  in6_addr parsed{};
  return inet_pton(AF_INET, address.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

std::string without_port(const std::string& host) {
  const std::size_t bracket = host.find(']');
  return host.substr(0, host.find(':', bracket == std::string::npos ? 0 : bracket));
}

bool is_local_name(const std::string& host) {
  return host.empty() || host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace plait::report
