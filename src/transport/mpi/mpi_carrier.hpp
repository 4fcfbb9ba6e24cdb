// MpiCarrier: this process as a member; its operations go to the engine.
#pragma once

#include <vector>

#include "transport/carrier.hpp"
#include "transport/mpi/buffer_pool.hpp"
#include "transport/mpi/engine.hpp"

namespace plait::transport::mpi {

class MpiCarrier final : public Carrier {
 public:
  /// `nodes`: of every member.
  MpiCarrier(Engine& engine, int rank, std::vector<int> nodes)
      : engine_(engine), rank_(rank), nodes_(std::move(nodes)) {}

  std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, const Label& to) override;
  std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, const Label& from) override;
  std::unique_ptr<Transfer> receive_in_place(std::size_t size, const Label& from) override;
  int node(int member) const override { return nodes_[member]; }
  void abort(const std::string& reason) override { engine_.abort(reason); }

 private:
  Engine& engine_;
  int rank_;
  std::vector<int> nodes_;
  BufferPool pool_;
};

}  // namespace plait::transport::mpi
