// MemberGroup: Group on top of any Carrier. It translates ranks, keeps groups apart by channels,
// counts the traffic and splits.
#pragma once

#include <atomic>
#include <vector>

#include "transport/carrier.hpp"
#include "transport/group.hpp"

namespace plait::transport {

struct MemberGroupSpec {
  std::vector<int> members{};  ///< their ranks in the whole job
  int rank = 0;                ///< the place of this member among them
  std::uint64_t channel = 0;
  bool counted = true;  ///< whether traffic() counts
};

class MemberGroup final : public Group {
 public:
  /// The carrier must outlive the group.
  MemberGroup(Carrier& carrier, MemberGroupSpec spec) : carrier_(carrier), spec_(std::move(spec)) {}

  int rank() const override { return spec_.rank; }
  int size() const override { return static_cast<int>(spec_.members.size()); }
  int node(int member) const override;
  std::unique_ptr<Group> split(int colour, int key) override;
  Request isend(std::span<const std::byte> bytes, int to, int tag) override;
  Request irecv(std::span<std::byte> bytes, int from, int tag) override;
  Incoming ireceive(std::size_t size, int from, int tag) override;
  void abort(const std::string& reason) override { carrier_.abort(reason); }
  Traffic traffic() const override;

 private:
  Label label(int member, int tag) const;

  Carrier& carrier_;
  MemberGroupSpec spec_;
  std::uint64_t splits_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<std::int64_t> messages_ = 0;
};

/// The members 0 to size - 1 of the whole job.
MemberGroupSpec whole_job(int size, int rank, std::uint64_t channel);

}  // namespace plait::transport
