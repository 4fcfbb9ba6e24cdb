// PlanGroups: the groups of a plan as one worker sees them, and what it has sent through them.
#pragma once

#include <memory>
#include <vector>

#include "plan/plan.hpp"
#include "transport/group.hpp"

namespace plait::run {

class PlanGroups {
 public:
  /// Every worker of the plan must build its own at the same time (groups are split). `all`
  /// outlives it.
  PlanGroups(const plan::Plan& plan, transport::Group& all);

  /// Index of Plan::groups; this worker is a member.
  transport::Group& at(int index) { return *groups_[static_cast<std::size_t>(index)]; }
  /// Payload sent by this worker, in the group of all and in those of the plan, since they were
  /// made.
  transport::Traffic traffic() const;

 private:
  transport::Traffic sent_in_all() const;

  transport::Group& all_;
  std::vector<std::unique_ptr<transport::Group>> groups_;  ///< null where this worker is no member
  transport::Traffic before_{};                            ///< sent while the groups were made
};

}  // namespace plait::run
