// A plan made ready for playing: seconds and bytes of every task, found once for workers that do
// the same, and flat numbers instead of the keys that say which receive belongs to which send.
#pragma once

#include "cost/cost_model.hpp"
#include "simulate/link_state.hpp"

namespace plait::simulate {

/// The same for workers whose programs are alike.
struct CompiledTask {
  double seconds = 0;  ///< of load and compute
  /// Index of Compiled::talks of the worker; -1: it does not communicate.
  int talk = -1;
  /// How many tasks from this one on are loads or compute, run whenever this one does, and are
  /// updates or not like this one; 0: none.
  int together = 0;
};

/// A send, receive or reduce of one worker.
struct CompiledTalk {
  double seconds = 0;      ///< of the worker's own work
  std::int64_t bytes = 0;  ///< put on the wire
  /// Send, receive: of messages, -1 where nothing travels; reduce: index of Compiled::reductions.
  int channel = -1;
  int member = -1;  ///< of the reduction's group
};

/// All reductions of one bucket over one group, one after the other.
struct CompiledReduction {
  int group = 0;
  double bytes = 0;           ///< of the whole bucket on the wire
  std::int64_t messages = 0;  ///< of one exchange, all members
};

struct Compiled {
  std::vector<std::vector<CompiledTask>> programs;  ///< those that are unlike each other
  std::vector<int> program;                         ///< by worker: index of these
  std::vector<std::vector<CompiledTalk>> talks;     ///< by worker
  /// The n-th send of a channel meets its n-th receive. A channel is one (from, to, tensor or
  /// gradient, samples).
  int channels = 0;
  std::vector<CompiledReduction> reductions{};
  std::vector<Spread> groups{};
};

Compiled compile(const plan::Plan& plan, const cost::CostModel& cost);

}  // namespace plait::simulate
