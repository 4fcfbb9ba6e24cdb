// Splits the group of all workers, and counts bytes and messages.
#include "run/plan_groups.hpp"

#include <algorithm>

namespace plait::run {

PlanGroups::PlanGroups(const plan::Plan& plan, transport::Group& all) : all_(all) {
  for (const std::vector<int>& members : plan.groups) {
    const bool in = std::ranges::find(members, all.rank()) != members.end();
    auto group = all.split(in ? 1 : 0, all.rank());
    groups_.push_back(in ? std::move(group) : nullptr);
  }
  before_ = sent_in_all();
}

transport::Traffic PlanGroups::sent_in_all() const {
  transport::Traffic sum = all_.traffic();
  for (const auto& group : groups_) {
    if (!group) continue;
    const transport::Traffic one = group->traffic();
    sum.bytes += one.bytes;
    sum.messages += one.messages;
  }
  return sum;
}

transport::Traffic PlanGroups::traffic() const {
  const transport::Traffic sum = sent_in_all();
  return {sum.bytes - before_.bytes, sum.messages - before_.messages};
}

}  // namespace plait::run
