// The blocking collectives of Group, made of its messages; a fixed pattern for each.
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "transport/reduction.hpp"
#include "transport/tags.hpp"

namespace plait::transport {

int Group::next_collective_tag() {
  const int tag = kFirstCollectiveTag + collectives_;
  collectives_ = (collectives_ + 1) % (kTags - kFirstCollectiveTag);
  return tag;
}

void Group::all_reduce(std::span<float> values, Wire wire) {
  Reduction reduction(*this, {values}, wire, next_collective_tag());
  reduction.start();
  reduction.sum();
  reduction.finish();
}

void Group::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const int members = size();
  if (all.size() != mine.size() * members) {
    fail("all_gather of {} bytes from each of {} members into {} bytes", mine.size(), members,
         all.size());
  }
  const int tag = next_collective_tag();
  std::vector<Request> requests;
  for (int step = 1; step < members; ++step) {
    const int from = (rank() + members - step) % members;
    requests.push_back(irecv(all.subspan(from * mine.size(), mine.size()), from, tag));
  }
  for (int step = 1; step < members; ++step) {
    requests.push_back(isend(mine, (rank() + step) % members, tag));
  }
  std::copy(mine.begin(), mine.end(), all.begin() + rank() * mine.size());
  for (Request& request : requests) request.wait();
}

// A binomial tree over places, place 0 being the root: place p hears from p without its lowest set
// bit, and tells p + b for every bit b below that.
void Group::broadcast(std::span<std::byte> bytes, int root) {
  const int members = size();
  if (root < 0 || root >= members) fail("broadcast from member {} of a group of {}", root, members);
  const int tag = next_collective_tag();
  const int place = (rank() - root + members) % members;
  int bit = 1;
  while (bit < members && (place & bit) == 0) bit *= 2;
  if (place != 0) irecv(bytes, (place - bit + root) % members, tag).wait();
  std::vector<Request> requests;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < members) {
      requests.push_back(isend(bytes, (place + bit + root) % members, tag));
    }
  }
  for (Request& request : requests) request.wait();
}

// Round k: tell the member 2^k further, hear from the one 2^k before. After log2(size) rounds every
// member has heard of every other.
void Group::barrier() {
  const int members = size();
  const int tag = next_collective_tag();
  for (int distance = 1; distance < members; distance *= 2) {
    Request told = isend({}, (rank() + distance) % members, tag);
    irecv({}, (rank() + members - distance) % members, tag).wait();
    told.wait();
  }
}

}  // namespace plait::transport
