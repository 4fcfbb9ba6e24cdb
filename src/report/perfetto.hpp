// A trace in Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing
// open: a process per node, a thread per worker, a slice per event. Written as it goes.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "trace/trace.hpp"

namespace plait::report {

struct PerfettoLabel {
  std::string key{};
  std::string value{};
};

/// `labels` (model, strategy, seed, ...) are shown as the trace's own data. The trace must be of
/// this plan.
void write_perfetto(std::ostream& out, const plan::Plan& plan, const trace::Trace& trace,
                    const std::vector<PerfettoLabel>& labels = {});

/// UserError where the file cannot be made, Failure where it cannot be written to its end.
void write_perfetto(const std::string& path, const plan::Plan& plan, const trace::Trace& trace,
                    const std::vector<PerfettoLabel>& labels = {});

}  // namespace plait::report
