// What a member says before the run and after it.
#include <algorithm>
#include <cmath>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "session/member.hpp"

namespace plait::session {

namespace {

/// What every worker reports at the end.
struct WorkerSummary {
  trace::Totals totals;
  transport::Traffic traffic;
  double play_seconds = 0;
  std::int64_t peak_memory = 0;
  std::int64_t memory = 0;
  run::ExchangeTimes exchanges;
};

}  // namespace

std::string Member::headline() const {
  const plan::Machine& machine = parts_.plan.machine;
  std::string who = fmt::format("{} thread(s)", threads_per_worker(config_));
  if (parts_.plan.workers() > 1) {
    who = fmt::format("{}, {} workers{} of {}", parts_.plan.strategy, parts_.plan.workers(),
                      machine.nodes > 1 ? fmt::format(" on {} nodes", machine.nodes) : "", who);
  }
  const std::string task = fmt::format(
      "{} ({} parameters) on {} ({} train, {} test), ", config_.model,
      with_commas(graph::parameter_count(parts_.setup.model)), config_.data,
      with_commas(parts_.setup.data.train->size()), with_commas(parts_.setup.data.test->size()));
  std::string how = fmt::format("batch {}, {} step(s), {}", config_.batch,
                                with_commas(minibatches_.total_steps()), who);
  if (task.size() + how.size() <= kLineColumns) return task + how;
  return task.substr(0, task.size() - 1) + "\n" + how;
}

TrainResult Member::result(std::int64_t first_step) {
  const auto& programs = parts_.plan.programs;
  const WorkerSummary mine{.totals = parts_.trace.totals(),
                           .traffic = worker_.traffic(),
                           .play_seconds = times_.steps(),
                           .peak_memory = peak_memory_bytes(),
                           .memory = static_cast<std::int64_t>(worker_.memory_bytes()),
                           .exchanges = worker_.exchange_times()};
  std::vector<WorkerSummary> all(programs.size());
  parts_.control.all_gather(std::as_bytes(std::span(&mine, 1)),
                            std::as_writable_bytes(std::span(all)));
  transfer_.collect(worker_.parameters());
  std::vector<run::Residual> residuals = residual_book_.take();
  if (!parts_.is_zero()) return {};
  const auto images = static_cast<double>(minibatches_.samples(first_step, progress_.step));
  const std::optional<run::Evaluation>& evaluation = evaluation_.current();
  TrainResult done{.model = config_.model,
                   .strategy = parts_.plan.strategy,
                   .workers = parts_.plan.workers(),
                   .threads = threads_per_worker(config_),
                   .epochs = progress_.epoch,
                   .steps = progress_.step,
                   .new_steps = progress_.step - first_step,
                   .train_loss = progress_.batch == 0
                                     ? progress_.last_train_loss
                                     : progress_.epoch_loss /
                                           minibatches_.weight(progress_.epoch, progress_.batch),
                   .test_loss = evaluation ? evaluation->loss : std::nan(""),
                   .test_accuracy = evaluation ? evaluation->accuracy : std::nullopt,
                   .test_top5 = evaluation ? evaluation->top5 : std::nullopt,
                   .test_miou = evaluation ? evaluation->miou : std::nullopt,
                   .seconds = times_.run(),
                   .images_per_second = times_.steps() > 0 ? images / times_.steps() : 0,
                   .step_seconds = times_.median_step(),
                   .weights_hash = worker_.parameters().hash(),
                   .staleness_max = std::ranges::max(plan::staleness(parts_.plan)),
                   .shares = {},
                   .memory = {},
                   .residuals = std::move(residuals),
                   .run_dir = parts_.folder->writes() ? parts_.folder->path().string() : "",
                   .interrupted = stop_,
                   .plan = {},
                   .trace = {}};
  for (const WorkerSummary& one : all) {
    done.bytes_sent += one.traffic.bytes;
    done.messages_sent += one.traffic.messages;
    done.peak_memory_bytes = std::max(done.peak_memory_bytes, one.peak_memory);
    done.shares.push_back(trace::shares(one.totals, one.play_seconds));
    done.memory.push_back(one.memory);
    const auto workers = static_cast<double>(all.size());
    done.exchanges = std::max(done.exchanges, one.exchanges.count);
    done.exchange_seconds += one.exchanges.under_way / workers;
    done.exchange_waited_seconds += one.exchanges.waited / workers;
    done.utilisation += done.shares.back().busy / static_cast<double>(all.size());
  }
  return done;
}

}  // namespace plait::session
