// Asks for the mode of an epoch and remembers it.
#include "session/epoch_modes.hpp"

#include <utility>

namespace plait::session {

bool EpochModes::choose(std::int64_t epochs, const std::vector<double>& losses) {
  if (!choice_) return false;
  const int mode = choice_(epochs, losses);
  return std::exchange(mode_, mode) != mode;
}

}  // namespace plait::session
