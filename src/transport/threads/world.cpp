// ThreadWorld: two post offices, one for data and one for control, and one alarm for both.
#include <cmath>

#include "base/error.hpp"
#include "transport/member_group.hpp"
#include "transport/threads.hpp"
#include "transport/threads/thread_board.hpp"
#include "transport/threads/thread_carrier.hpp"

namespace plait::transport {
namespace {

using threads::Alarm;
using threads::PostOffice;
using threads::ThreadCarrier;

ThreadWorldOptions checked(const ThreadWorldOptions& options) {
  constexpr int kMost = 1 << 14;
  if (options.nodes < 1 || options.members_per_node < 1 || options.nodes > kMost ||
      options.members_per_node > kMost / options.nodes) {
    fail("a world of {} nodes with {} members each: from 1 to {} members are possible",
         options.nodes, options.members_per_node, kMost);
  }
  const auto [rate, latency] = options.between_nodes;
  if (!(rate >= 0 && latency >= 0 && std::isfinite(latency))) {
    fail("a link of {} bytes/s and {} s between nodes: neither may be negative", rate, latency);
  }
  return options;
}

PostOffice open_office(const ThreadWorldOptions& options, const Alarm& alarm) {
  PostOffice office{.members_per_node = options.members_per_node};
  for (int rank = 0; rank < options.nodes * options.members_per_node; ++rank) {
    office.boxes.push_back(std::make_unique<threads::Mailbox>(rank, alarm));
  }
  return office;
}

}  // namespace

class ThreadWorld::State {
 public:
  explicit State(const ThreadWorldOptions& wanted)
      : options_(checked(wanted)),
        size_(options_.nodes * options_.members_per_node),
        data_(open_office(options_, alarm_)),
        control_(open_office(options_, alarm_)),
        board_(size_, options_.board_bytes) {
    if (options_.between_nodes.bytes_per_second > 0) {
      for (int node = 0; node < options_.nodes; ++node) {
        data_.links.push_back(std::make_unique<threads::Link>(options_.between_nodes));
      }
    }
    for (int rank = 0; rank < size_; ++rank) {
      data_carriers_.push_back(std::make_unique<ThreadCarrier>(rank, data_, alarm_));
      control_carriers_.push_back(std::make_unique<ThreadCarrier>(rank, control_, alarm_));
    }
  }

  int size() const { return size_; }
  Alarm& alarm() { return alarm_; }
  Board& board() { return board_; }

  std::unique_ptr<Group> group(int rank, bool control) {
    if (rank < 0 || rank >= size_) fail("member {} of a world of {}: no such member", rank, size_);
    MemberGroupSpec spec = whole_job(size_, rank, 0);
    spec.counted = !control;
    return std::make_unique<MemberGroup>(control ? *control_carriers_[rank] : *data_carriers_[rank],
                                         std::move(spec));
  }

 private:
  void wake() {
    for (PostOffice* office : {&data_, &control_}) {
      for (const auto& box : office->boxes) box->wake();
    }
  }

  ThreadWorldOptions options_;
  int size_;
  Alarm alarm_{[this] { wake(); }};
  PostOffice data_;
  PostOffice control_;
  threads::ThreadBoard board_;
  std::vector<std::unique_ptr<ThreadCarrier>> data_carriers_;
  std::vector<std::unique_ptr<ThreadCarrier>> control_carriers_;
};

ThreadWorld::ThreadWorld(const ThreadWorldOptions& options)
    : state_(std::make_unique<State>(options)) {}
ThreadWorld::~ThreadWorld() = default;

int ThreadWorld::size() const { return state_->size(); }
std::unique_ptr<Group> ThreadWorld::group(int rank) { return state_->group(rank, false); }
std::unique_ptr<Group> ThreadWorld::control_group(int rank) { return state_->group(rank, true); }
Board& ThreadWorld::board() { return state_->board(); }
void ThreadWorld::abort(const std::string& reason) { state_->alarm().raise(reason); }

}  // namespace plait::transport
