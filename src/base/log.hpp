// The log: lines on stderr, so that stdout stays free for results. Handed down, never global.
#pragma once

#include <spdlog/logger.h>

#include <memory>

namespace plait {

using Log = std::shared_ptr<spdlog::logger>;

/// `quiet` keeps warnings and errors only.
Log make_log(bool quiet);

}  // namespace plait
