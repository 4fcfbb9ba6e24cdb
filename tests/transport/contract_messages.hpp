// Promises about messages: order, sizes, tags, who waits for what.
#pragma once

#include <chrono>
#include <thread>

#include "transport/contract_tools.hpp"

namespace plait::transport::contract {

inline void messages_keep_their_order(Group& group) {
  constexpr int kMessages = 300;
  std::vector<std::vector<int>> sent(group.size());
  std::vector<Request> requests;
  for (int to = 0; to < group.size(); ++to) {
    for (int i = 0; i < kMessages; ++i) sent[to].push_back(group.rank() * 1000 + i);
    for (int& value : sent[to]) requests.push_back(group.isend(bytes_of(value), to, 5));
  }
  for (int from = 0; from < group.size(); ++from) {
    for (int i = 0; i < kMessages; ++i) {
      int value = -1;
      group.irecv(bytes_of(value), from, 5).wait();
      require(value == from * 1000 + i, "message {} from {} is {}", i, from, value);
    }
  }
  for (Request& request : requests) request.wait();
}

inline void sizes_from_nothing_to_64_mib(Group& group) {
  const std::size_t sizes[] = {0,    1,    3,    64,    3551,  3552,    3553,
                               4095, 4096, 4097, 65535, 65537, 1 << 20, (1 << 20) + 1};
  int tag = 0;
  for (const std::size_t size : sizes) {
    const std::vector<std::byte> sent = pattern(size, group.rank(), tag);
    std::vector<std::byte> received(size, std::byte{0xee});
    Request send = group.isend(sent, next(group), tag);
    group.irecv(received, previous(group), tag).wait();
    send.wait();
    require(received == pattern(size, previous(group), tag), "{} bytes came otherwise", size);
    ++tag;
  }
  // One large one is enough; more than one part of what MPI takes at a time.
  constexpr std::size_t kLarge = (std::size_t{64} << 20U) + 5;
  const int last = group.size() - 1;
  std::vector<std::byte> received(group.rank() == last ? kLarge : 0);
  std::vector<std::byte> sent;
  Request receive;
  if (group.rank() == last) receive = group.irecv(received, 0, tag);
  if (group.rank() == 0) {
    sent = pattern(kLarge, 0, tag);
    group.isend(sent, last, tag).wait();
  }
  receive.wait();
  if (group.rank() == last) require(received == pattern(kLarge, 0, tag), "64 MiB came otherwise");
}

inline void a_thousand_in_flight(Group& group) {
  constexpr int kMessages = 1000;
  const auto size = [](int i) { return static_cast<std::size_t>(i % 7 == 0 ? 6000 : i % 50); };
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::vector<std::byte>> received;
  std::vector<Request> requests;
  for (int i = 0; i < kMessages; ++i) {
    sent.push_back(pattern(size(i), group.rank(), i));
    received.emplace_back(size(i));
  }
  for (int i = 0; i < kMessages; ++i) requests.push_back(group.isend(sent[i], next(group), i % 3));
  for (int i = 0; i < kMessages; ++i) {
    requests.push_back(group.irecv(received[i], previous(group), i % 3));
  }
  for (Request& request : requests) request.wait();
  for (int i = 0; i < kMessages; ++i) {
    require(received[i] == pattern(size(i), previous(group), i), "message {} came otherwise", i);
  }
}

inline void tags_may_be_received_in_any_order(Group& group) {
  constexpr int kTags = 20;
  std::vector<std::vector<std::byte>> sent;
  for (int i = 0; i < kTags; ++i) sent.push_back(pattern(i % 2 == 0 ? 8 : 9000, group.rank(), i));
  std::vector<Request> requests;
  for (int i = 0; i < kTags; ++i) {
    requests.push_back(group.isend(sent[i], next(group), (1 << 20) - 1 - i));
  }
  for (int i = kTags - 1; i >= 0; --i) {
    std::vector<std::byte> received(sent[i].size());
    group.irecv(received, previous(group), (1 << 20) - 1 - i).wait();
    require(received == pattern(sent[i].size(), previous(group), i), "tag {} came otherwise", i);
  }
  for (Request& request : requests) request.wait();
}

/// Both members wait for their sends before they look at their receives, which are posted.
inline void sends_end_while_receives_are_not_waited_for(Group& group) {
  const std::vector<std::byte> sent = pattern(1 << 20, group.rank(), 0);
  std::vector<std::byte> received(sent.size());
  Request receive = group.irecv(received, previous(group), 1);
  group.isend(sent, next(group), 1).wait();
  receive.wait();
  require(received == pattern(sent.size(), previous(group), 0), "it came otherwise");
}

/// Nobody calls wait(): done() alone must become true on both sides.
inline void transfers_advance_while_members_compute(Group& group) {
  const std::vector<std::byte> sent = pattern(200000, group.rank(), 0);
  std::vector<std::byte> received(sent.size());
  Request receive = group.irecv(received, previous(group), 1);
  Request send = group.isend(sent, next(group), 1);
  const Stopwatch watch;
  while (!(receive.done() && send.done())) {
    require(watch.seconds() < 60, "the transfer does not advance without wait()");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  require(received == pattern(sent.size(), previous(group), 0), "it came otherwise");
}

inline void messages_can_be_read_where_they_lie(Group& group) {
  for (const std::size_t size : {0, 100, 100000}) {
    std::vector<std::byte> sent = pattern(size, group.rank(), 3);
    Request send = group.isend(sent, next(group), 9);
    Incoming incoming = group.ireceive(size, previous(group), 9);
    const std::span<const std::byte> bytes = incoming.wait();
    const std::vector<std::byte> expected = pattern(size, previous(group), 3);
    require(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()),
            "{} bytes in place are others", size);
    incoming.release();
    require(incoming.done() && incoming.wait().empty(), "a released message is not gone");
    send.wait();
    std::fill(sent.begin(), sent.end(), std::byte{0});
  }
}

inline void a_message_of_another_size_is_refused(Group& group) {
  for (const std::size_t size : {12UL, 50000UL, (40UL << 20U)}) {
    const std::vector<std::byte> sent(size);
    std::vector<std::byte> received(8);
    Request send = group.isend(sent, next(group), 77);
    Request receive = group.irecv(received, previous(group), 77);
    const std::string text = thrown<Failure>([&] { receive.wait(); });
    const std::string expected =
        fmt::format("member {} sent {} bytes to member {} with tag 77, who expects 8 bytes",
                    previous(group), size, group.rank());
    require(text == expected, "the text is: {}", text);
    receive.wait();  // it is over
    send.wait();
    Request send_again = group.isend(received, next(group), 77);
    require(!thrown<Failure>([&] { group.ireceive(5, previous(group), 77).wait(); }).empty(), "");
  }
  group.barrier();  // the group goes on
}

inline void the_destructor_of_a_request_waits(Group& group) {
  std::vector<std::byte> received(100000);
  const std::vector<std::byte> sent = pattern(received.size(), group.rank(), 4);
  {
    const Request receive = group.irecv(received, previous(group), 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(group.rank() * 5));
    const Request send = group.isend(sent, next(group), 2);
  }
  require(received == pattern(received.size(), previous(group), 4), "the destructor did not wait");
  std::vector<std::byte> second(10);
  const std::vector<std::byte> small = pattern(10, group.rank(), 5);
  Request send = group.isend(small, next(group), 2);
  Request receive = group.irecv(second, previous(group), 2);
  receive = Request();
  require(second == pattern(10, previous(group), 5), "the assignment did not wait");
  Request last = group.isend(small, next(group), 3);
  { const Incoming unread = group.ireceive(10, previous(group), 3); }
  last.wait();  // the Incoming gave the bytes back
}

inline void strangers_and_wrong_tags_are_refused(Group& group) {
  std::byte byte{};
  const std::span<std::byte> one(&byte, 1);
  const int size = group.size();
  require(!thrown<Failure>([&] { (void)group.isend(one, size, 0); }).empty(), "");
  require(!thrown<Failure>([&] { (void)group.irecv(one, -1, 0); }).empty(), "");
  require(!thrown<Failure>([&] { (void)group.isend(one, 0, -1); }).empty(), "");
  require(!thrown<Failure>([&] { (void)group.ireceive(1, 0, 1 << 21); }).empty(), "");
  Request nothing;
  nothing.wait();
  nothing.wait();
  require(nothing.done(), "a request for nothing is done");
}

inline std::vector<Case> message_cases() {
  return {{"MessagesKeepTheirOrder", messages_keep_their_order},
          {"SizesFromNothingTo64MiB", sizes_from_nothing_to_64_mib},
          {"AThousandInFlight", a_thousand_in_flight},
          {"TagsMayBeReceivedInAnyOrder", tags_may_be_received_in_any_order},
          {"SendsEndWhileReceivesAreNotWaitedFor", sends_end_while_receives_are_not_waited_for},
          {"TransfersAdvanceWhileMembersCompute", transfers_advance_while_members_compute},
          {"MessagesCanBeReadWhereTheyLie", messages_can_be_read_where_they_lie},
          {"AMessageOfAnotherSizeIsRefused", a_message_of_another_size_is_refused},
          {"TheDestructorOfARequestWaits", the_destructor_of_a_request_waits},
          {"StrangersAndWrongTagsAreRefused", strangers_and_wrong_tags_are_refused}};
}

}  // namespace plait::transport::contract
