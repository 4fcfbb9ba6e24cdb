// Names of hosts and addresses, as the live page's server sees them.
#pragma once

#include <string>

namespace plait::report {

bool is_numeric_address(const std::string& address);

/// "localhost:80" -> "localhost", "[::1]:80" -> "[::1]".
std::string without_port(const std::string& host);

/// A server for this machine answers under local names only; otherwise a page of another site
/// could read it through a name that resolves to 127.0.0.1.
bool is_local_name(const std::string& host);

}  // namespace plait::report
