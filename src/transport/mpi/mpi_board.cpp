// Shared memory of a node's processes: created by one, mapped by all, unlinked at once.
#include "transport/mpi/mpi_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "transport/mpi/check.hpp"

namespace plait::transport::mpi {
namespace {

/// The text of what went wrong here; empty: nothing.
struct Mapping {
  std::byte* memory = nullptr;
  std::string error;
};

Mapping map_shared(const std::string& name, bool create, std::size_t bytes) {
  const int file = shm_open(name.c_str(), create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
  if (file < 0) return {.error = fmt::format("shm_open: {}", std::strerror(errno))};
  Mapping mapping;
  // Reserved, not only promised: a full /dev/shm would be a SIGBUS later.
  const int code = create ? posix_fallocate(file, 0, static_cast<off_t>(bytes)) : 0;
  void* memory =
      code == 0 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (memory == MAP_FAILED) {
    mapping.error = fmt::format("{} bytes of shared memory: {}", bytes,
                                std::strerror(code != 0 ? code : errno));
  } else {
    mapping.memory = static_cast<std::byte*>(memory);
  }
  close(file);
  return mapping;
}

/// A communicator of those on this node, for as long as the board is set up.
class NodeComm {
 public:
  NodeComm(MPI_Comm comm, int leader) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_split(comm, leader, rank, &comm_), "MPI_Comm_split");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  }
  NodeComm(const NodeComm&) = delete;
  NodeComm& operator=(const NodeComm&) = delete;
  ~NodeComm() { MPI_Comm_free(&comm_); }
  MPI_Comm get() const { return comm_; }
  bool leads() const { return rank_ == 0; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
};

/// The memory of the node, zero. All of the node fail if one does.
std::byte* share(const NodeComm& node, std::size_t bytes) {
  std::array<char, 64> name{};
  if (node.leads()) {
    const ProcessId me = this_process();
    fmt::format_to_n(name.data(), name.size() - 1, "/plait-{}-{}", me.pid, me.began);
  }
  Mapping mapping;
  if (node.leads()) mapping = map_shared(name.data(), true, bytes);
  check(MPI_Bcast(name.data(), name.size(), MPI_CHAR, 0, node.get()), "MPI_Bcast");
  if (!node.leads()) mapping = map_shared(name.data(), false, bytes);
  int worked = mapping.error.empty() ? 1 : 0;
  check(MPI_Allreduce(MPI_IN_PLACE, &worked, 1, MPI_INT, MPI_MIN, node.get()), "MPI_Allreduce");
  if (node.leads()) shm_unlink(name.data());
  if (worked == 1) return mapping.memory;
  if (mapping.memory != nullptr) munmap(mapping.memory, bytes);
  fail("the shared memory of this node could not be created: {}",
       mapping.error.empty() ? "another process of the node failed" : mapping.error);
}

}  // namespace

MpiBoard::MpiBoard(MPI_Comm comm, std::vector<int> here, std::size_t piece_bytes)
    : here_(std::move(here)),
      piece_bytes_(piece_bytes),
      stride_((piece_bytes + 63) / 64 * 64),
      processes_(here_.size()) {
  const NodeComm node(comm, here_.front());
  const ProcessId me = this_process();
  check(MPI_Allgather(&me, sizeof me, MPI_BYTE, processes_.data(), sizeof me, MPI_BYTE, node.get()),
        "MPI_Allgather");
  for (const ProcessId& process : processes_) visible_.push_back(plait::transport::alive(process));
  if (piece_bytes_ > 0) memory_ = share(node, stride_ * here_.size());
  check(MPI_Barrier(node.get()), "MPI_Barrier");  // no process ends before all have looked
}

MpiBoard::~MpiBoard() {
  if (memory_ != nullptr) munmap(memory_, stride_ * here_.size());
}

std::size_t MpiBoard::place(int member) const {
  const auto found = std::find(here_.begin(), here_.end(), member);
  if (found == here_.end()) fail("member {} is not on this node", member);
  return found - here_.begin();
}

std::span<std::byte> MpiBoard::piece(int member) {
  const std::size_t at = place(member);
  if (memory_ == nullptr) return {};
  return {memory_ + at * stride_, piece_bytes_};
}

bool MpiBoard::alive(int member) const {
  const std::size_t at = place(member);
  return !visible_[at] || plait::transport::alive(processes_[at]);
}

}  // namespace plait::transport::mpi
