// Equal replicas of some workers: the task of one as another one does it.
#pragma once

#include "plan/plan.hpp"

namespace plait::lower {

/// One of `of` replicas with so many workers each.
struct Replica {
  int number = 0;
  int of = 1;
  int workers = 1;

  int worker(int in_replica) const { return number * workers + in_replica; }
};

/// A task that is written for the only replica, with this one's peers and part of the samples.
inline void move_to(const Replica& replica, plan::Task& task) {
  if (plan::Message* message = plan::message_of(task)) {
    message->peer = replica.worker(message->peer);
    if (plan::is_permanent(message->value.role)) return;
  }
  const plan::Samples of = plan::samples_of(task);
  const int first = replica.number * of.of;
  plan::set_samples(task, {first + of.begin, first + of.end, replica.of * of.of});
}

}  // namespace plait::lower
