// Names that come out of files, made fit for a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace plait::checkpoint {

/// In single quotes; control bytes as \xNN; at most 80 bytes of the name, then "...".
std::string shown(std::string_view name);

}  // namespace plait::checkpoint
