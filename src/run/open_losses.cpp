// Adds up the losses of a minibatch's tasks.
#include "run/open_losses.hpp"

#include <algorithm>

namespace plait::run {

void OpenLosses::add(std::int64_t minibatch, const optim::LossResult& result) {
  auto open =
      std::ranges::find(open_, minibatch, [](const Open& one) { return one.loss.minibatch; });
  if (open == open_.end()) open = open_.insert(open, {{minibatch, {}}, 0});
  ++open->tasks;
  open->loss.loss.sum += result.sum;
  open->loss.loss.correct += result.correct;
}

std::vector<MinibatchLoss> OpenLosses::take() {
  std::vector<MinibatchLoss> complete;
  while (!open_.empty() && open_.front().tasks == tasks_) {
    complete.push_back(open_.front().loss);
    open_.erase(open_.begin());
  }
  return complete;
}

}  // namespace plait::run
