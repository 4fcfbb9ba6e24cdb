// Ranks, channels and splits of groups on a Carrier.
#include "transport/member_group.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "transport/tags.hpp"

namespace plait::transport {
namespace {

struct Choice {
  int colour = 0;
  int key = 0;
};

/// The same on every member without a word: the parent's channel and which of its splits this is.
std::uint64_t channel_of_split(std::uint64_t parent, std::uint64_t nth) {
  Hash hash;
  hash.add(&parent, sizeof parent);
  hash.add(&nth, sizeof nth);
  return hash.value();
}

/// Ranks in the parent of those who chose `colour`, by (key, rank).
std::vector<int> chosen(std::span<const Choice> choices, int colour) {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(choices.size()); ++rank) {
    if (choices[rank].colour == colour) ranks.push_back(rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](int a, int b) { return choices[a].key < choices[b].key; });
  return ranks;
}

}  // namespace

MemberGroupSpec whole_job(int size, int rank, std::uint64_t channel) {
  MemberGroupSpec spec{.members = std::vector<int>(size), .rank = rank, .channel = channel};
  std::iota(spec.members.begin(), spec.members.end(), 0);
  return spec;
}

Label MemberGroup::label(int member, int tag) const {
  if (member < 0 || member >= size()) {
    fail("a message to or from member {} of a group of {}: no such member", member, size());
  }
  if (tag < 0 || tag >= kTags) {
    fail("a message with tag {}: tags go from 0 to {}", tag, kFirstCollectiveTag - 1);
  }
  return {.channel = spec_.channel, .peer = spec_.members[member], .tag = tag};
}

int MemberGroup::node(int member) const { return carrier_.node(label(member, 0).peer); }

std::unique_ptr<Group> MemberGroup::split(int colour, int key) {
  const Choice mine{.colour = colour, .key = key};
  std::vector<Choice> choices(spec_.members.size());
  all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(choices)));
  const std::vector<int> ranks = chosen(choices, colour);

  MemberGroupSpec part{.channel = channel_of_split(spec_.channel, splits_++),
                       .counted = spec_.counted};
  part.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
  for (const int member : ranks) part.members.push_back(spec_.members[member]);
  return std::make_unique<MemberGroup>(carrier_, std::move(part));
}

Request MemberGroup::isend(std::span<const std::byte> bytes, int to, int tag) {
  Request request(carrier_.send(bytes, label(to, tag)));
  if (spec_.counted) {
    bytes_.fetch_add(static_cast<std::int64_t>(bytes.size()), std::memory_order_relaxed);
    messages_.fetch_add(1, std::memory_order_relaxed);
  }
  return request;
}

Request MemberGroup::irecv(std::span<std::byte> bytes, int from, int tag) {
  return Request(carrier_.receive(bytes, label(from, tag)));
}

Incoming MemberGroup::ireceive(std::size_t size, int from, int tag) {
  return Incoming(carrier_.receive_in_place(size, label(from, tag)));
}

Traffic MemberGroup::traffic() const {
  return {.bytes = bytes_.load(std::memory_order_relaxed),
          .messages = messages_.load(std::memory_order_relaxed)};
}

}  // namespace plait::transport
