// MemberParts: what one member of a training run is given, by train(), for threads and MPI alike.
#pragma once

#include <string>

#include "run/status.hpp"
#include "session/run_folder.hpp"
#include "session/setup.hpp"
#include "session/train.hpp"

namespace plait::session {

/// All of it outlives the member.
struct MemberParts {
  const TrainJob& job;
  const Setup& setup;
  const plan::Plan& plan;
  transport::Group& group;
  transport::Group& control;
  run::WorkerStatus& status;
  trace::WorkerTrace& trace;
  RunFolder* folder = nullptr;  ///< worker 0 only
  std::string checkpoints;      ///< where worker 0 writes them; "": nowhere

  bool is_zero() const { return control.rank() == 0; }
  const plan::Program& program() const {
    return plan.programs[static_cast<std::size_t>(group.rank())];
  }
};

}  // namespace plait::session
