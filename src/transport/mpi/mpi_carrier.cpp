// Sends and receives as operations of the engine.
#include "transport/mpi/mpi_carrier.hpp"

#include <fmt/format.h>

namespace plait::transport::mpi {
namespace {

class MpiTransfer final : public Transfer {
 public:
  /// `buffer`: the receive's memory if it is not the caller's.
  MpiTransfer(Engine& engine, int member, Operation operation, Buffer buffer = {})
      : engine_(engine),
        member_(member),
        buffer_(std::move(buffer)),
        operation_(std::make_shared<Operation>(std::move(operation))) {
    engine_.submit(operation_);
  }

  void wait() override { engine_.wait(*operation_); }
  bool done() override { return engine_.done(*operation_); }
  double arrived_at() override { return engine_.done_at(*operation_); }
  std::span<const std::byte> bytes() const override { return operation_->in; }
  void end_job(const std::string& reason) noexcept override {
    engine_.abort(fmt::format("member {}: {}", member_, reason));
  }

 private:
  Engine& engine_;
  int member_;
  Buffer buffer_;
  OperationPtr operation_;
};

}  // namespace

std::unique_ptr<Transfer> MpiCarrier::send(std::span<const std::byte> bytes, const Label& to) {
  return std::make_unique<MpiTransfer>(engine_, rank_,
                                       Operation{.label = to, .sends = true, .out = bytes});
}

std::unique_ptr<Transfer> MpiCarrier::receive(std::span<std::byte> bytes, const Label& from) {
  return std::make_unique<MpiTransfer>(engine_, rank_, Operation{.label = from, .in = bytes});
}

std::unique_ptr<Transfer> MpiCarrier::receive_in_place(std::size_t size, const Label& from) {
  Buffer buffer = pool_.take(size);
  const std::span<std::byte> bytes = buffer.bytes();
  return std::make_unique<MpiTransfer>(engine_, rank_, Operation{.label = from, .in = bytes},
                                       std::move(buffer));
}

}  // namespace plait::transport::mpi
