// Mailbox: the messages to one member. A letter is a pointer to the sender's memory; it is copied
// once, into the receiver's memory, or read where it lies. The copy is made by the receiver if it
// sleeps waiting for it, otherwise by whoever comes second, so no side has to wait() for the
// other's transfer to advance.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "transport/matcher.hpp"
#include "transport/threads/alarm.hpp"
#include "transport/threads/link.hpp"

namespace plait::transport::threads {

/// One message under way. All but the first three lines is guarded by the mailbox.
struct Letter {
  std::span<const std::byte> bytes;
  int from = 0;
  Passage passage{};
  bool claimed = false;  ///< a receive has it
  bool taken = false;    ///< the bytes belong to the sender again
};

/// One posted receive; guarded likewise.
struct Slot {
  std::span<std::byte> into;  ///< empty if in place
  std::size_t size = 0;
  bool in_place = false;
  bool sleeping = false;  ///< its owner sleeps and will copy
  bool copying = false;
  bool copied = false;
  Clock::time_point met{};  ///< it and its letter
  std::shared_ptr<Letter> letter{};
  std::string error{};
};

class Mailbox {
 public:
  Mailbox(int owner, const Alarm& alarm) : owner_(owner), alarm_(alarm) {}

  /// The sender's side. wait_taken throws Aborted.
  void put(const Label& label, const std::shared_ptr<Letter>& letter);
  void wait_taken(const Letter& letter);
  bool is_taken(const Letter& letter);
  /// The sender's memory goes away: after wait_taken() or an abort.
  void withdraw(const Label& label, const std::shared_ptr<Letter>& letter);

  /// The receiver's side. wait_arrived throws Aborted, or Failure for a wrong size.
  void post(const Label& label, const std::shared_ptr<Slot>& slot);
  void wait_arrived(Slot& slot);
  bool has_arrived(const Slot& slot);
  Clock::time_point arrival(const Slot& slot);
  /// The receiver's memory goes away, or it has read enough: after wait_arrived() or an abort.
  void leave(const Label& label, const std::shared_ptr<Slot>& slot);

  /// Makes every wait look at the alarm.
  void wake();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void join(Lock& lock, const Label& label, Slot& slot, const std::shared_ptr<Letter>& letter);
  void copy(Lock& lock, Slot& slot);
  void sleep_until(std::condition_variable& sleepers, Lock& lock, Clock::time_point when);

  int owner_;
  const Alarm& alarm_;
  std::mutex mutex_;
  std::condition_variable senders_;
  std::condition_variable receivers_;
  Matcher<std::shared_ptr<Letter>, std::shared_ptr<Slot>> matcher_;
};

}  // namespace plait::transport::threads
