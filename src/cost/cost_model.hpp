// CostModel: the seconds of the tasks of one network on one kind of worker. Links are the
// machine's.
#pragma once

#include <memory>

#include "plan/plan.hpp"

namespace plait::cost {

struct BlockSeconds {
  double forward = 0;
  double backward_data = 0;
  double backward_weights = 0;
  double update = 0;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Of `samples` samples; update does not depend on them.
  virtual BlockSeconds block(int block, std::int64_t samples) const = 0;
  /// Of a block that a strategy has added, `network` being the plan's: counted, where the model
  /// does not know better.
  virtual BlockSeconds added(const plan::Network& network, int block, std::int64_t samples) const;
  virtual double loss(std::int64_t samples) const = 0;
  /// What the worker itself spends on loading: the data come from another thread.
  virtual double load(std::int64_t samples) const = 0;
  /// Adding `arrays` arrays of `bytes` each into one.
  virtual double sum(std::int64_t bytes, int arrays) const = 0;
  /// How much slower a worker computes while `busy` workers of its node do; 1 for one.
  virtual double contention(int busy) const = 0;
  /// "analytic", "profile vgg16.json", ...: for the labels of results.
  virtual std::string source() const = 0;
};

/// Seconds a load or compute task takes (of a piece: its share of what the whole block takes) on a
/// worker whose node has `busy` working workers; 0 for communication. Of `clip`: as if the worker
/// updated the whole network.
double task_seconds(const CostModel& cost, const plan::Plan& plan, const plan::Task& task,
                    int busy);

/// Of `clip`: the norm of the gradients that this worker updates.
double clip_seconds(const CostModel& cost, const plan::Plan& plan, int worker, int busy);

}  // namespace plait::cost
