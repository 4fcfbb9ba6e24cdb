// Shows the progress of measured costs on the terminal.
#include "cli/measuring_line.hpp"

#include <algorithm>

#include "cli/terminal.hpp"

namespace plait::cli {

namespace {

void show(const session::MeasuringStep& step, bool redraws) {
  const bool begins = step.part.empty() && !step.ended;
  if (!redraws) {
    if (begins && step.whole) tell("measuring {} on this machine ...\n", step.what);
    return;
  }
  if (begins) return;
  std::string line;
  if (!step.ended) {
    const std::size_t room = std::max<std::size_t>(2, terminal_width()) - 1;
    line = fmt::format("measuring {}: {} ...", step.what, step.part).substr(0, room);
  }
  tell("\r\x1b[K{}", line);
  std::fflush(stderr);
}

}  // namespace

session::CostProgress measuring_line(bool quiet) {
  if (quiet) return {};
  return {.on_note =
              [](const std::string& line) { tell("{}{}", line, line.ends_with('\n') ? "" : "\n"); },
          .on_step = [redraws = find_terminal().redraws](
                         const session::MeasuringStep& step) { show(step, redraws); }};
}

}  // namespace plait::cli
