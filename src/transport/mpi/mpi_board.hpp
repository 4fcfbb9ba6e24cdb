// MpiBoard: a file in shared memory that has lost its name as soon as all on this node have mapped
// it, so that nothing is left behind however the job ends.
#pragma once

#include <mpi.h>

#include "transport/board.hpp"
#include "transport/process.hpp"

namespace plait::transport::mpi {

class MpiBoard final : public Board {
 public:
  /// Blocking and collective: before the engine starts. `here`: the ranks on this node.
  MpiBoard(MPI_Comm comm, std::vector<int> here, std::size_t piece_bytes);
  MpiBoard(const MpiBoard&) = delete;
  MpiBoard& operator=(const MpiBoard&) = delete;
  ~MpiBoard() override;

  std::vector<int> members() const override { return here_; }
  std::span<std::byte> piece(int member) override;
  bool alive(int member) const override;

 private:
  std::size_t place(int member) const;

  std::vector<int> here_;
  std::size_t piece_bytes_;
  std::size_t stride_;
  std::byte* memory_ = nullptr;
  std::vector<ProcessId> processes_;  ///< of here_
  std::vector<bool> visible_;         ///< whether /proc of this process shows them
};

}  // namespace plait::transport::mpi
