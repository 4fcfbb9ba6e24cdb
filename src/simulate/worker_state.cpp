// The text of a plan that cannot come to its end.
#include "simulate/worker_state.hpp"

#include <fmt/format.h>

namespace plait::simulate {

std::string blocked_text(const plan::Plan& plan, const std::vector<WorkerState>& workers,
                         std::int64_t steps) {
  constexpr int kNamed = 16;
  std::string text = "the plan cannot come to its end";
  int blocked = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const WorkerState& worker = workers[i];
    if (worker.step == steps || ++blocked > kNamed) continue;
    const plan::Task& task = plan.programs[i].tasks[static_cast<std::size_t>(worker.position)];
    text +=
        fmt::format("{} worker {} waits in {}, minibatch {}, step {}", blocked == 1 ? ":" : ";", i,
                    plan::describe(plan, task), task.when.minibatch_at(worker.step), worker.step);
  }
  if (blocked > kNamed) text += fmt::format("; and {} more", blocked - kNamed);
  return text;
}

}  // namespace plait::simulate
