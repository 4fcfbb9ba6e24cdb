// Buckets of gradients and statistics, and their three moves put between the tasks of a program.
#include "strategy/reductions.hpp"

namespace plait::strategy {

std::vector<plan::Bucket> gradient_buckets(const plan::Network& network,
                                           const std::vector<int>& blocks,
                                           std::int64_t bucket_bytes, int wire_bytes) {
  std::vector<plan::Bucket> buckets;
  plan::Bucket open{.payload = plan::Payload::gradient, .blocks = {}};
  std::int64_t bytes = 0;
  for (const int block : blocks) {
    const std::int64_t parameters = network.blocks[static_cast<std::size_t>(block)].parameters;
    if (parameters == 0) continue;
    open.blocks.push_back(block);
    bytes += parameters * wire_bytes;
    if (bytes < bucket_bytes) continue;
    buckets.push_back(std::move(open));
    open = {.payload = plan::Payload::gradient, .blocks = {}};
    bytes = 0;
  }
  if (!open.blocks.empty()) buckets.push_back(std::move(open));
  return buckets;
}

plan::Bucket state_bucket(const plan::Network& network, const std::vector<int>& blocks) {
  plan::Bucket state{.payload = plan::Payload::state, .blocks = {}};
  for (const int block : blocks) {
    if (network.blocks[static_cast<std::size_t>(block)].state > 0) state.blocks.push_back(block);
  }
  return state;
}

void OverlappedReductions::append(plan::Move move, int index) {
  tasks_.push_back({.what = plan::Reduce{.move = move, .group = range_.group, .bucket = index}});
}

void OverlappedReductions::state_ready() {
  if (started_ < range_.last && bucket(started_).payload == plan::Payload::state) start();
}

void OverlappedReductions::block_ready(int block) {
  if (started_ < range_.last && bucket(started_).blocks.back() == block) start();
}

void OverlappedReductions::start() {
  append(plan::Move::start, started_++);
  if (started_ >= range_.first + 2) append(plan::Move::sum, summed_++);
  if (started_ >= range_.first + 3) finish();
}

void OverlappedReductions::drain() {
  while (summed_ < started_) {
    append(plan::Move::sum, summed_++);
    if (finished_ + 1 < summed_) finish();
  }
  while (finished_ < started_) finish();
}

void OverlappedReductions::finish() {
  const int index = finished_++;
  append(plan::Move::finish, index);
  if (!update_at_once_ || bucket(index).payload != plan::Payload::gradient) return;
  for (const int block : bucket(index).blocks) {
    tasks_.push_back({.what = plan::Update{block}});
  }
}

}  // namespace plait::strategy
