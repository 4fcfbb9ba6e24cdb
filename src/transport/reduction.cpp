// The states of a reduction and its messages; sums in rank order, block by block.
#include "transport/reduction.hpp"

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/bf16.hpp"
#include "transport/pieces.hpp"

namespace plait::transport {
namespace {

/// Values are summed in blocks that stay in the first-level cache.
constexpr std::size_t kBlock = 2048;

std::size_t wire_size(Wire wire) { return wire == Wire::bf16 ? 2 : 4; }

/// Calls use(i, value i) for the `n` values from value `begin` of a message.
template <class Use>
void for_values(Wire wire, const std::byte* message, IndexRange range, Use use) {
  if (wire == Wire::bf16) {
    const auto* values = reinterpret_cast<const std::uint16_t*>(message) + range.begin;
    for (std::size_t i = 0; i < range.size(); ++i) use(i, from_bf16(values[i]));
  } else {
    const auto* values = reinterpret_cast<const float*>(message) + range.begin;
    for (std::size_t i = 0; i < range.size(); ++i) use(i, values[i]);
  }
}

/// Rounds in place as the wire does.
void round_as(Wire wire, std::span<float> values) {
  if (wire == Wire::f32) return;
  for (float& value : values) value = from_bf16(to_bf16(value));
}

}  // namespace

class Reduction::State {
 public:
  State(Group& group, std::vector<std::span<float>> values, Wire wire, int tag)
      : group_(group), values_(std::move(values)), wire_(wire), tag_(tag) {}

  void start();
  bool ready() const;
  void sum();
  void finish();
  double waited() const { return waited_; }
  double under_way() const { return under_way_; }

 private:
  enum class Stage { idle, started, summed };

  void expect(Stage stage, const char* call) const;
  IndexRange shard(int member) const { return shard_of(values_.size(), group_.size(), member); }
  /// A shard that lies in one piece and needs no conversion travels from and to its own memory.
  bool direct(IndexRange shard) const { return wire_ == Wire::f32 && values_.in_one(shard); }
  std::span<std::byte> wire_memory(IndexRange shard);
  void to_wire(IndexRange shard);
  void from_wire(IndexRange shard);
  void add_block(IndexRange block, IndexRange shard,
                 const std::vector<std::span<const std::byte>>& shards);
  template <class Waited>
  void wait(Waited& request);

  Group& group_;
  Pieces values_;
  Wire wire_;
  int tag_;
  Stage stage_ = Stage::idle;
  double waited_ = 0;
  double under_way_ = 0;
  double sent_at_ = 0;              ///< what is waited for was asked for then
  double arrived_at_ = 0;           ///< the last of it
  std::vector<std::byte> staging_;  ///< of shards that are not direct; sent from, then received to
  // Destroyed from the last: a member gives back what it reads before it waits for its own sends.
  std::vector<Request> sends_;
  std::vector<Request> results_;         ///< by member
  std::vector<Incoming> contributions_;  ///< by member, to this member's own shard
};

void Reduction::State::expect(Stage stage, const char* call) const {
  if (stage_ != stage) fail("Reduction: {} out of turn; the order is start, sum, finish", call);
}

std::span<std::byte> Reduction::State::wire_memory(IndexRange shard) {
  if (direct(shard)) return std::as_writable_bytes(values_.part(shard));
  staging_.resize(values_.size() * wire_size(wire_));
  return std::span(staging_).subspan(shard.begin * wire_size(wire_),
                                     shard.size() * wire_size(wire_));
}

void Reduction::State::to_wire(IndexRange shard) {
  if (direct(shard)) return;
  std::byte* memory = wire_memory(shard).data();
  if (wire_ == Wire::f32) return values_.read(shard, reinterpret_cast<float*>(memory));
  auto* rounded = reinterpret_cast<std::uint16_t*>(memory);
  float block[kBlock];
  for (std::size_t at = shard.begin; at < shard.end; at += kBlock) {
    const IndexRange range{at, std::min(at + kBlock, shard.end)};
    values_.read(range, block);
    for (std::size_t i = 0; i < range.size(); ++i) rounded[i] = to_bf16(block[i]);
    rounded += range.size();
  }
}

void Reduction::State::from_wire(IndexRange shard) {
  if (direct(shard)) return;
  const std::byte* memory = wire_memory(shard).data();
  float block[kBlock];
  for (std::size_t at = 0; at < shard.size(); at += kBlock) {
    const IndexRange range{at, std::min(at + kBlock, shard.size())};
    for_values(wire_, memory, range, [&](std::size_t i, float value) { block[i] = value; });
    values_.write({shard.begin + range.begin, shard.begin + range.end}, block);
  }
}

// Between two members messages of one tag keep their order: first the contribution, then the
// result. A result may be received into the memory its contribution was sent from, because it comes
// only after its sender has read that.
void Reduction::State::start() {
  expect(Stage::idle, "start()");
  stage_ = Stage::started;
  waited_ = under_way_ = 0;
  sent_at_ = arrived_at_ = now_seconds();
  const int members = group_.size();
  const int me = group_.rank();
  contributions_.resize(members);
  results_.resize(members);
  const std::size_t mine = shard(me).size() * wire_size(wire_);
  for (int member = 0; member < members; ++member) {
    if (member != me && mine > 0) contributions_[member] = group_.ireceive(mine, member, tag_);
  }
  for (int step = 1; step < members; ++step) {
    const int member = (me + step) % members;
    const IndexRange theirs = shard(member);
    if (theirs.size() == 0) continue;
    to_wire(theirs);
    sends_.push_back(group_.isend(wire_memory(theirs), member, tag_));
    results_[member] = group_.irecv(wire_memory(theirs), member, tag_);
  }
}

bool Reduction::State::ready() const {
  const auto done = [](const auto& request) { return request.done(); };
  if (stage_ != Stage::summed) {
    return std::all_of(contributions_.begin(), contributions_.end(), done);
  }
  return std::all_of(results_.begin(), results_.end(), done) &&
         std::all_of(sends_.begin(), sends_.end(), done);
}

template <class Waited>
void Reduction::State::wait(Waited& request) {
  const bool blocks = !request.done();
  double arrived = blocks ? 0 : request.arrived_at();
  const Stopwatch watch;
  request.wait();
  if (blocks) {
    waited_ += watch.seconds();
    arrived = now_seconds();
  }
  arrived_at_ = std::max(arrived_at_, arrived);
}

/// ((v0 + v1) + v2) + ... for one block of this member's shard.
void Reduction::State::add_block(IndexRange block, IndexRange shard,
                                 const std::vector<std::span<const std::byte>>& shards) {
  float total[kBlock];
  float mine[kBlock];
  values_.read(block, mine);
  round_as(wire_, {mine, block.size()});
  const IndexRange local{block.begin - shard.begin, block.end - shard.begin};
  for (int member = 0; member < group_.size(); ++member) {
    const bool own = member == group_.rank();
    const auto* message = own ? reinterpret_cast<const std::byte*>(mine) : shards[member].data();
    const Wire wire = own ? Wire::f32 : wire_;
    const IndexRange range = own ? IndexRange{0, block.size()} : local;
    if (member == 0) {
      for_values(wire, message, range, [&](std::size_t i, float value) { total[i] = value; });
    } else {
      for_values(wire, message, range, [&](std::size_t i, float value) { total[i] += value; });
    }
  }
  round_as(wire_, {total, block.size()});
  values_.write(block, total);
}

void Reduction::State::sum() {
  expect(Stage::started, "sum()");
  stage_ = Stage::summed;
  const int members = group_.size();
  const IndexRange mine = shard(group_.rank());
  if (members == 1 || mine.size() == 0) return;
  std::vector<std::span<const std::byte>> shards(members);
  for (int member = 0; member < members; ++member) {
    wait(contributions_[member]);
    shards[member] = contributions_[member].wait();
  }
  under_way_ += arrived_at_ - sent_at_;
  for (std::size_t at = mine.begin; at < mine.end; at += kBlock) {
    add_block({at, std::min(at + kBlock, mine.end)}, mine, shards);
  }
  for (Incoming& contribution : contributions_) contribution.release();
  to_wire(mine);
  sent_at_ = arrived_at_ = now_seconds();
  for (int step = 1; step < members; ++step) {
    sends_.push_back(group_.isend(wire_memory(mine), (group_.rank() + step) % members, tag_));
  }
}

void Reduction::State::finish() {
  expect(Stage::summed, "finish()");
  for (int member = 0; member < group_.size(); ++member) {
    wait(results_[member]);
    if (member != group_.rank()) from_wire(shard(member));
  }
  under_way_ += arrived_at_ - sent_at_;
  for (Request& send : sends_) wait(send);
  sends_.clear();
  stage_ = Stage::idle;
}

Reduction::Reduction(Group& group, std::vector<std::span<float>> values, Wire wire, int tag)
    : state_(std::make_unique<State>(group, std::move(values), wire, tag)) {}
Reduction::~Reduction() = default;
Reduction::Reduction(Reduction&&) noexcept = default;
Reduction& Reduction::operator=(Reduction&&) noexcept = default;

void Reduction::start() { state_->start(); }
bool Reduction::ready() const { return state_->ready(); }
void Reduction::sum() { state_->sum(); }
void Reduction::finish() { state_->finish(); }
double Reduction::waited() const { return state_->waited(); }
double Reduction::under_way() const { return state_->under_way(); }

}  // namespace plait::transport
