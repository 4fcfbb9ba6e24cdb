#include "base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>

namespace plait {

Log make_log(bool quiet) {
  auto log = std::make_shared<spdlog::logger>(
      "plait", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  log->set_pattern("%^%v%$");
  log->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
  return log;
}

}  // namespace plait
