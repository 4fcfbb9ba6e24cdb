// Several who hear what a run says.
#pragma once

#include <vector>

#include "session/train.hpp"

namespace plait {

class TellAll : public TrainObserver {
 public:
  /// Null ones are left out.
  explicit TellAll(std::vector<TrainObserver*> observers) : observers_(std::move(observers)) {
    std::erase(observers_, nullptr);
  }

  void planned(const PlanReport& report) override { all(&TrainObserver::planned, report); }
  void begin(const std::string& headline) override { all(&TrainObserver::begin, headline); }
  void step(const StepReport& report) override { all(&TrainObserver::step, report); }
  void epoch(const EpochReport& report) override { all(&TrainObserver::epoch, report); }
  void timeline(const TimelineReport& report) override { all(&TrainObserver::timeline, report); }
  void note(const std::string& line) override { all(&TrainObserver::note, line); }
  void fatal(const std::string& line) override { all(&TrainObserver::fatal, line); }

 private:
  template <class News>
  void all(void (TrainObserver::*tell)(const News&), const News& news) {
    for (TrainObserver* observer : observers_) (observer->*tell)(news);
  }

  std::vector<TrainObserver*> observers_;
};

}  // namespace plait
