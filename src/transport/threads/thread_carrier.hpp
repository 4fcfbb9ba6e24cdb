// ThreadCarrier: one member's access to the mailboxes of all.
#pragma once

#include <vector>

#include "transport/carrier.hpp"
#include "transport/threads/link.hpp"
#include "transport/threads/mailbox.hpp"

namespace plait::transport::threads {

/// The mailboxes of all members, and the links that slow messages between nodes.
struct PostOffice {
  std::vector<std::unique_ptr<Mailbox>> boxes{};
  std::vector<std::unique_ptr<Link>> links{};  ///< by the node they leave; empty: no model
  int members_per_node = 1;
  int node(int member) const { return member / members_per_node; }
};

class ThreadCarrier final : public Carrier {
 public:
  ThreadCarrier(int rank, PostOffice& office, Alarm& alarm)
      : rank_(rank), office_(office), alarm_(alarm) {}

  std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, const Label& to) override;
  std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, const Label& from) override;
  std::unique_ptr<Transfer> receive_in_place(std::size_t size, const Label& from) override;
  int node(int member) const override { return office_.node(member); }
  void abort(const std::string& reason) override { alarm_.raise(reason); }

 private:
  std::unique_ptr<Transfer> post(std::shared_ptr<Slot> slot, const Label& from);

  int rank_;
  PostOffice& office_;
  Alarm& alarm_;
};

}  // namespace plait::transport::threads
