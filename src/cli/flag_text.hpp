// Settings that messages, notes and help of other rooms name by their keys, as flags.
#pragma once

#include <string>
#include <string_view>

namespace plait::cli {

/// "`weight_decay` 2 is ..." as "--weight-decay 2 is ...": every word between backticks.
std::string with_flags(std::string_view text);

}  // namespace plait::cli
