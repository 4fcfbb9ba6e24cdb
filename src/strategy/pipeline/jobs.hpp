// The jobs of one minibatch under a placement, and what waits for what: everything a schedule needs
// to know, and later the tasks and messages of the programs.
#pragma once

#include "plan/accesses.hpp"
#include "strategy/pipeline/placement.hpp"

namespace plait::strategy::pipeline {

struct Job {
  plan::Task task{};  ///< without messages and loads; offset 0
  int worker = 0;
  int microbatch = 0;
  double seconds = 0;

  struct After {
    int job = 0;
    double seconds = 0;  ///< of the message
    int earlier = 0;     ///< how many minibatches before this one; 0: of the same
  };
  std::vector<After> after{};
};

/// A value that one worker makes and another one needs.
struct Delivery {
  plan::Value value;
  int maker = 0;  ///< job
  int user = 0;   ///< one of the jobs, on another worker, that read it
};

struct JobGraph {
  std::vector<Job> jobs{};
  std::vector<Delivery> deliveries{};
  std::vector<std::vector<int>> groups{};
  std::vector<plan::Bucket> buckets{};
  int workers = 0;
  int microbatches = 1;
};

struct JobOptions {
  /// backward_weights follows its backward_data at once, and what backward makes leaves the worker
  /// after both: backward as one task.
  bool fused = false;
};

JobGraph make_jobs(const PlanRequest& request, const Placement& placement,
                   const JobOptions& options);

}  // namespace plait::strategy::pipeline
