// Several who hear what a run says.
#pragma once

#include <vector>

#include "session/train.hpp"

namespace plait::cli {

class TellAll : public session::TrainObserver {
 public:
  /// Null ones are left out.
  explicit TellAll(std::vector<session::TrainObserver*> observers)
      : observers_(std::move(observers)) {
    std::erase(observers_, nullptr);
  }

  void planned(const session::PlanReport& report) override {
    all(&session::TrainObserver::planned, report);
  }
  void begin(const std::string& headline) override {
    all(&session::TrainObserver::begin, headline);
  }
  void step(const session::StepReport& report) override {
    all(&session::TrainObserver::step, report);
  }
  void epoch(const session::EpochReport& report) override {
    all(&session::TrainObserver::epoch, report);
  }
  void timeline(const session::TimelineReport& report) override {
    all(&session::TrainObserver::timeline, report);
  }
  void note(const std::string& line) override { all(&session::TrainObserver::note, line); }
  void fatal(const std::string& line) override { all(&session::TrainObserver::fatal, line); }

 private:
  template <class News>
  void all(void (session::TrainObserver::*tell)(const News&), const News& news) {
    for (session::TrainObserver* observer : observers_) (observer->*tell)(news);
  }

  std::vector<session::TrainObserver*> observers_;
};

}  // namespace plait::cli
