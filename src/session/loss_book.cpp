// Sends losses without waiting, and sums them in the order of the workers.
#include "session/loss_book.hpp"

#include <algorithm>

namespace plait::session {

namespace {

constexpr int kLossTag = 2;

std::span<std::byte> bytes_of(std::array<double, 2>& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

}  // namespace

LossBook::LossBook(const plan::Plan& plan, transport::Group& control) : control_(control) {
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const auto& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
    const auto loss = std::ranges::find_if(tasks, plan::is<plan::Loss>);
    if (loss == tasks.end()) continue;
    offset_ = loss->when.offset;
    if (worker == 0) zero_has_loss_ = true;
    if (worker != 0) senders_.push_back(worker);
  }
}

void LossBook::send(const run::MinibatchLoss& loss) {
  while (!sent_.empty() && sent_.front()->request.done()) sent_.pop_front();
  Sent& sent = *sent_.emplace_back(std::make_unique<Sent>());
  sent.numbers = {loss.loss.sum, static_cast<double>(loss.loss.correct)};
  sent.request = control_.isend(bytes_of(sent.numbers), 0, kLossTag);
}

void LossBook::open(const run::MinibatchLoss& own) {
  Line& line = open_.emplace_back();
  line.own = own;
  line.others.resize(senders_.size());
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    line.requests.push_back(control_.irecv(bytes_of(line.others[i]), senders_[i], kLossTag));
  }
}

void LossBook::add(std::vector<run::MinibatchLoss> losses, std::int64_t step,
                   const plan::MinibatchRange& range) {
  const bool zero = control_.rank() == 0;
  const std::int64_t minibatch = step - offset_;
  if (zero && !zero_has_loss_ && minibatch >= range.first && minibatch < range.last) {
    losses.push_back({minibatch, {}});
  }
  for (const run::MinibatchLoss& loss : losses) zero ? open(loss) : send(loss);
}

std::vector<run::MinibatchLoss> LossBook::collect(bool wait) {
  std::vector<run::MinibatchLoss> complete;
  while (!open_.empty()) {
    Line& line = open_.front();
    if (!wait && !std::ranges::all_of(line.requests, &transport::Request::done)) break;
    run::MinibatchLoss sum = line.own;
    for (std::size_t i = 0; i < line.requests.size(); ++i) {
      line.requests[i].wait();
      sum.loss.sum += line.others[i][0];
      sum.loss.correct += static_cast<std::int64_t>(line.others[i][1]);
    }
    complete.push_back(sum);
    open_.pop_front();
  }
  return complete;
}

}  // namespace plait::session
