// The messages: worker 0's decision one step ahead, and losses collected without waiting.
#include "session/control.hpp"

#include <algorithm>

namespace plait {

namespace {

constexpr int kWordTag = 1;
constexpr int kLossTag = 2;

std::span<std::byte> bytes_of(std::array<double, 2>& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

}  // namespace

void WordOfZero::send(const Word& word) {
  while (!under_way_.empty() && std::ranges::all_of(under_way_.front().requests, &Request::done)) {
    under_way_.pop_front();
  }
  Letter& letter = under_way_.emplace_back();
  letter.bits[0] = static_cast<std::byte>((word.stop ? 1 : 0) + (word.save ? 2 : 0));
  for (int member = 1; member < control_.size(); ++member) {
    letter.requests.push_back(control_.isend(letter.bits, member, kWordTag));
  }
}

Word WordOfZero::receive() {
  std::array<std::byte, 1> incoming{};
  control_.irecv(incoming, 0, kWordTag).wait();
  const int bits = std::to_integer<int>(incoming[0]);
  return {.stop = (bits & 1) != 0, .save = (bits & 2) != 0};
}

Word WordOfZero::next() {
  if (control_.size() == 1) return decide_();
  const bool first = std::exchange(first_, false);
  if (control_.rank() != 0) return first ? Word{} : receive();
  const Word now = first ? Word{} : ahead_;
  ahead_ = decide_();
  send(ahead_);
  return now;
}

void WordOfZero::finish() {
  if (control_.size() == 1 || first_) return;
  if (control_.rank() == 0) {
    for (Letter& letter : under_way_) {
      for (Request& request : letter.requests) request.wait();
    }
    under_way_.clear();
  } else {
    receive();
  }
}

LossBook::LossBook(const Plan& plan, Group& control) : control_(control) {
  for (int worker = 0; worker < plan.workers(); ++worker) {
    const auto& tasks = plan.programs[static_cast<std::size_t>(worker)].tasks;
    const auto loss = std::ranges::find_if(tasks, is<Loss>);
    if (loss == tasks.end()) continue;
    offset_ = loss->when.offset;
    if (worker == 0) zero_speaks_ = true;
    if (worker != 0) speakers_.push_back(worker);
  }
}

void LossBook::add(std::vector<MinibatchLoss> losses, std::int64_t step,
                   const MinibatchRange& range) {
  const std::int64_t minibatch = step - offset_;
  if (control_.rank() == 0 && !zero_speaks_ && minibatch >= range.first && minibatch < range.last) {
    losses.push_back({minibatch, {}});
  }
  for (const MinibatchLoss& loss : losses) {
    if (control_.rank() != 0) {
      while (!sent_.empty() && sent_.front()->request.done()) sent_.pop_front();
      sent_.push_back(std::make_unique<Sent>());
      Sent& sent = *sent_.back();
      sent.numbers = {loss.loss.sum, static_cast<double>(loss.loss.correct)};
      sent.request = control_.isend(bytes_of(sent.numbers), 0, kLossTag);
      continue;
    }
    Line& line = open_.emplace_back();
    line.own = loss;
    line.others.resize(speakers_.size());
    for (std::size_t i = 0; i < speakers_.size(); ++i) {
      line.requests.push_back(control_.irecv(bytes_of(line.others[i]), speakers_[i], kLossTag));
    }
  }
}

std::vector<MinibatchLoss> LossBook::collect(bool wait) {
  std::vector<MinibatchLoss> complete;
  while (!open_.empty()) {
    Line& line = open_.front();
    if (!wait && !std::ranges::all_of(line.requests, &Request::done)) break;
    MinibatchLoss sum = line.own;
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

}  // namespace plait
