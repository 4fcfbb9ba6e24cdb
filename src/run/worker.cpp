// Walks through the program and calls the part that runs each task.
#include "run/worker.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "run/poison_results.hpp"

namespace plait::run {

Worker::Worker(const plan::Plan& plan, const WorkerOptions& options, WorkerLinks links)
    : context_{plan, options, std::move(links)},
      model_(plan, options),
      log_(context_.links.trace, context_.links.status),
      batches_(plan, options.rank, context_.links.next_batch),
      groups_(plan, context_.links.group),
      reductions_(context_, model_, groups_, batches_.share()),
      memory_(memory_of(context_, model_, batches_.read_in_place())),
      messages_({context_, model_, memory_}, log_),
      compute_({context_, model_, memory_}, batches_),
      updates_(context_, model_),
      losses_(
          static_cast<int>(std::ranges::count_if(context_.program().tasks, plan::is<plan::Loss>))) {
}

std::size_t Worker::memory_bytes() const {
  return memory_.bytes() + model_.parameters.bytes() + model_.history.bytes() + reductions_.bytes();
}

void Worker::play(std::int64_t step, const plan::MinibatchRange& range) {
  if (range_begin_ != range.first) {
    model_.history.begin(range.first);
    range_begin_ = range.first;
    reductions_.begin_range();
  }
  log_.next_step();
  messages_.post_receives(step, range);
  const std::vector<plan::Task>& tasks = context_.program().tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (plan::runs(tasks[i].when, step, range)) perform(context_.run_of(i, step));
  }
}

void Worker::perform(const TaskRun& at) {
  const plan::Task& task = context_.task(at);
  const int rank = context_.options.rank;
  log_.begin_task(at);
  try {
    if (context_.links.hook) context_.links.hook(rank, task, at.minibatch);
    if (const auto* backward = std::get_if<plan::BackwardWeights>(&task.what);
        backward != nullptr && !backward->adds) {
      messages_.finish_sending_gradient(
          static_cast<std::size_t>(context_.plan.network.home_of(backward->block)));
    }
    if (memory_.poisons()) poison_results(context_, at, model_.parameters, memory_);
    std::visit(
        overloaded{[&](const plan::Load&) { load(at); },
                   [&](const plan::Forward&) {
                     if (at.samples > 0) timed(at, [&] { compute_.forward(at); });
                   },
                   [&](const plan::Loss&) { compute_loss(at); },
                   [&](const plan::BackwardData&) {
                     if (at.samples > 0) timed(at, [&] { compute_.backward_data(at); });
                   },
                   [&](const plan::BackwardWeights&) {
                     if (at.samples == 0) return compute_.backward_weights(at);
                     timed(at, [&] { compute_.backward_weights(at); });
                   },
                   [&](const plan::AddGradient&) { timed(at, [&] { updates_.add_gradient(at); }); },
                   [&](const plan::Clip&) { timed(at, [&] { updates_.clip(at); }); },
                   [&](const plan::Update&) { timed(at, [&] { update(at); }); },
                   [&](const plan::Send&) { messages_.send(at); },
                   [&](const plan::Receive&) { messages_.receive(at); },
                   [&](const plan::Reduce&) { reductions_.reduce(at, log_); }},
        task.what);
  } catch (const UserError&) {
    throw;
  } catch (const transport::Aborted&) {
    throw;
  } catch (const NonFiniteLoss&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail("worker {} failed in {} (minibatch {}, step {}): {}", rank,
         plan::describe(context_.plan, task), at.minibatch + 1, at.step + 1, error.what());
  }
}

template <class Body>
void Worker::timed(const TaskRun& at, const Body& body) {
  const double begin = now_seconds();
  body();
  log_.computed(at, begin);
}

void Worker::load(const TaskRun& at) {
  if (!batches_.has(at.minibatch)) {
    log_.waiting(at, [&] { batches_.fetch(at.minibatch, at.whole); });
  }
  compute_.load(at);
}

void Worker::compute_loss(const TaskRun& at) {
  optim::LossResult result;
  if (at.samples > 0) timed(at, [&] { result = compute_.loss(at); });
  losses_.add(at.minibatch, result);
  if (!std::isfinite(result.sum)) {
    throw NonFiniteLoss(at.minibatch, result.sum, compute_.first_non_finite_block(at));
  }
}

void Worker::update(const TaskRun& at) {
  messages_.finish_sending_weights(static_cast<std::size_t>(context_.what<plan::Update>(at).block));
  updates_.update(at);
}

}  // namespace plait::run
