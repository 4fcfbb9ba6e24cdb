// Sends and receives as letters and slots of mailboxes; a transfer that is destroyed early
// withdraws them.
#include "transport/threads/thread_carrier.hpp"

#include <fmt/format.h>

namespace plait::transport::threads {
namespace {

struct Owner {
  int member = 0;
  Alarm& alarm;
};

class OwnedTransfer : public Transfer {
 public:
  explicit OwnedTransfer(const Owner& owner) : owner_(owner) {}
  void end_job(const std::string& reason) noexcept override {
    owner_.alarm.raise(fmt::format("member {}: {}", owner_.member, reason));
  }

 private:
  Owner owner_;
};

class Sending final : public OwnedTransfer {
 public:
  /// `label` as the receiver sees it.
  Sending(const Owner& owner, Mailbox& box, const Label& label, std::shared_ptr<Letter> letter)
      : OwnedTransfer(owner), box_(box), label_(label), letter_(std::move(letter)) {
    box_.put(label_, letter_);
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() override { box_.withdraw(label_, letter_); }
  void wait() override { box_.wait_taken(*letter_); }
  bool done() override { return box_.is_taken(*letter_); }

 private:
  Mailbox& box_;
  Label label_;
  std::shared_ptr<Letter> letter_;
};

class Receiving final : public OwnedTransfer {
 public:
  Receiving(const Owner& owner, Mailbox& box, const Label& label, std::shared_ptr<Slot> slot)
      : OwnedTransfer(owner), box_(box), label_(label), slot_(std::move(slot)) {
    box_.post(label_, slot_);
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;
  ~Receiving() override { box_.leave(label_, slot_); }
  void wait() override { box_.wait_arrived(*slot_); }
  bool done() override { return box_.has_arrived(*slot_); }
  double arrived_at() override {
    return std::chrono::duration<double>(box_.arrival(*slot_).time_since_epoch()).count();
  }
  std::span<const std::byte> bytes() const override { return slot_->letter->bytes; }

 private:
  Mailbox& box_;
  Label label_;
  std::shared_ptr<Slot> slot_;
};

}  // namespace

std::unique_ptr<Transfer> ThreadCarrier::send(std::span<const std::byte> bytes, const Label& to) {
  alarm_.check();
  auto letter = std::make_shared<Letter>(Letter{.bytes = bytes, .from = rank_});
  const int node = office_.node(rank_);
  if (!office_.links.empty() && node != office_.node(to.peer)) {
    letter->passage = office_.links[node]->pass(bytes.size());
  }
  const Label as_received{.channel = to.channel, .peer = rank_, .tag = to.tag};
  return std::make_unique<Sending>(Owner{rank_, alarm_}, *office_.boxes[to.peer], as_received,
                                   std::move(letter));
}

std::unique_ptr<Transfer> ThreadCarrier::post(std::shared_ptr<Slot> slot, const Label& from) {
  alarm_.check();
  return std::make_unique<Receiving>(Owner{rank_, alarm_}, *office_.boxes[rank_], from,
                                     std::move(slot));
}

std::unique_ptr<Transfer> ThreadCarrier::receive(std::span<std::byte> bytes, const Label& from) {
  return post(std::make_shared<Slot>(Slot{.into = bytes, .size = bytes.size()}), from);
}

std::unique_ptr<Transfer> ThreadCarrier::receive_in_place(std::size_t size, const Label& from) {
  return post(std::make_shared<Slot>(Slot{.into = {}, .size = size, .in_place = true}), from);
}

}  // namespace plait::transport::threads
