// Pairs letters with receives under one lock per member; the copy itself is made without it.
#include "transport/threads/mailbox.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace plait::transport::threads {

void Mailbox::put(const Label& label, const std::shared_ptr<Letter>& letter) {
  Lock lock(mutex_);
  if (const auto slot = matcher_.arrive(label, letter)) join(lock, label, **slot, letter);
}

void Mailbox::post(const Label& label, const std::shared_ptr<Slot>& slot) {
  Lock lock(mutex_);
  if (const auto letter = matcher_.expect(label, slot)) join(lock, label, *slot, *letter);
}

void Mailbox::join(Lock& lock, const Label& label, Slot& slot,
                   const std::shared_ptr<Letter>& letter) {
  letter->claimed = true;
  if (letter->bytes.size() != slot.size) {
    slot.error = to_string(SizeMismatch{.from = letter->from,
                                        .to = owner_,
                                        .tag = label.tag,
                                        .sent = letter->bytes.size(),
                                        .expected = slot.size});
    letter->taken = true;
  } else {
    slot.letter = letter;
    slot.met = Clock::now();
    if (!slot.in_place && !slot.sleeping) copy(lock, slot);
  }
  receivers_.notify_all();
  senders_.notify_all();
}

/// Without the lock while bytes move: `copying` keeps both memories alive.
void Mailbox::copy(Lock& lock, Slot& slot) {
  slot.copying = true;
  lock.unlock();
  if (slot.size > 0) std::memcpy(slot.into.data(), slot.letter->bytes.data(), slot.size);
  lock.lock();
  slot.copying = false;
  slot.copied = true;
  slot.letter->taken = true;
}

void Mailbox::sleep_until(std::condition_variable& sleepers, Lock& lock, Clock::time_point when) {
  if (Clock::now() >= when) return;
  sleepers.wait_until(lock, when, [&] { return alarm_.raised(); });
}

void Mailbox::wait_taken(const Letter& letter) {
  Lock lock(mutex_);
  senders_.wait(lock, [&] { return letter.taken || alarm_.raised(); });
  sleep_until(senders_, lock, letter.passage.departed);
  alarm_.check();
}

bool Mailbox::is_taken(const Letter& letter) {
  const Lock lock(mutex_);
  return alarm_.raised() || (letter.taken && Clock::now() >= letter.passage.departed);
}

void Mailbox::withdraw(const Label& label, const std::shared_ptr<Letter>& letter) {
  // After an abort a receiver that reads in place is still let finish. The limit is for members
  // that each read the other's memory while they leave.
  constexpr std::chrono::seconds kLongest(10);
  Lock lock(mutex_);
  if (!letter->claimed) return matcher_.forget(label, letter);
  senders_.wait_for(lock, kLongest, [&] { return letter->taken; });
}

void Mailbox::wait_arrived(Slot& slot) {
  Lock lock(mutex_);
  slot.sleeping = true;
  receivers_.wait(lock, [&] {
    return !slot.copying && (slot.letter != nullptr || !slot.error.empty() || alarm_.raised());
  });
  alarm_.check();
  if (!slot.error.empty()) throw Failure(slot.error);
  if (!slot.in_place && !slot.copied) {
    copy(lock, slot);
    senders_.notify_all();
  }
  sleep_until(receivers_, lock, slot.letter->passage.arrived);
  alarm_.check();
}

bool Mailbox::has_arrived(const Slot& slot) {
  const Lock lock(mutex_);
  if (alarm_.raised() || !slot.error.empty()) return true;
  return slot.letter != nullptr && (slot.in_place || slot.copied) &&
         Clock::now() >= slot.letter->passage.arrived;
}

Clock::time_point Mailbox::arrival(const Slot& slot) {
  const Lock lock(mutex_);
  return slot.letter == nullptr ? slot.met : std::max(slot.met, slot.letter->passage.arrived);
}

void Mailbox::leave(const Label& label, const std::shared_ptr<Slot>& slot) {
  Lock lock(mutex_);
  receivers_.wait(lock, [&] { return !slot->copying; });
  if (slot->letter == nullptr) return matcher_.forget(label, slot);
  if (slot->letter->taken) return;
  slot->letter->taken = true;
  senders_.notify_all();
}

void Mailbox::wake() {
  { const Lock lock(mutex_); }
  senders_.notify_all();
  receivers_.notify_all();
}

}  // namespace plait::transport::threads
