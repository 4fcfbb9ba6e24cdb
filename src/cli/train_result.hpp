// What is done with the result of a training run: text for people, JSON, and files beside it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/interrupt.hpp"
#include "cli/run_report.hpp"
#include "cli/verb.hpp"
#include "cli/workers_table.hpp"
#include "session/train.hpp"

namespace plait::cli {

/// What a run leaves beside its result and its weights. Where one of these files cannot be written
/// the training is not lost: it is a warning.
class ExtraFiles {
 public:
  void write(const std::function<void()>& body);
  void warn() const;

 private:
  std::vector<std::string> warnings_;
};

/// What worker 0 does with the result. Returns the exit code.
int present(const session::TrainResult& result, const Expected& expected,
            const Arguments& arguments, const InterruptGuard& guard);

}  // namespace plait::cli
