// MpiWorld: the beginning and the end of MPI in this process; between them only the engine calls
// it.
#include <mpi.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "transport/member_group.hpp"
#include "transport/mpi.hpp"
#include "transport/mpi/check.hpp"
#include "transport/mpi/engine.hpp"
#include "transport/mpi/envelope.hpp"
#include "transport/mpi/mpi_board.hpp"
#include "transport/mpi/mpi_carrier.hpp"
#include "transport/mpi/nodes.hpp"

namespace plait::transport {
namespace {

using mpi::check;
using mpi::kPartBytes;

constexpr std::uint64_t kDataChannel = 1;
constexpr std::uint64_t kControlChannel = 2;
constexpr std::uint64_t kEndChannel = 3;

/// A launcher that this MPI does not understand leaves every process alone in a world of one.
void check_launcher() {
  int size = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* told = std::getenv(name);
    if (told != nullptr && size == 1 && std::atoi(told) > 1) {
      fail(
          "this is one of {} processes ({}), but MPI sees only itself; start with the mpirun of "
          "the "
          "MPI that plait was built with, or with srun --mpi=pmix",
          told, name);
    }
  }
}

/// Open MPI 4.1 over TCP serialises large messages in opposite directions, unless they are sent
/// without asking the receiver first: a sum over two nodes then takes twice what the link allows.
/// So all our parts go without. The user's own setting stays.
void let_large_messages_cross() {
  constexpr std::size_t kWithHeaders = kPartBytes + 4096;
  setenv("OMPI_MCA_btl_tcp_eager_limit", std::to_string(kWithHeaders).c_str(), 0);
}

/// The communicator of all that we do; its errors are returned.
MPI_Comm open_mpi() {
  let_large_messages_cross();
  int already = 0;
  MPI_Initialized(&already);
  if (already != 0) fail("MPI is already initialised in this process");
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    fail(
        "this MPI provides thread level {} where MPI_THREAD_MULTIPLE ({}) is needed; use an MPI "
        "built "
        "with threads",
        provided, MPI_THREAD_MULTIPLE);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_launcher();
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  return comm;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

class OpenMpiWorld final : public MpiWorld {
 public:
  explicit OpenMpiWorld(std::size_t board_bytes)
      : comm_(open_mpi()),
        rank_(rank_in(comm_)),
        nodes_(mpi::find_nodes(comm_)),
        board_(comm_, nodes_.here, board_bytes),
        engine_(comm_),
        carrier_(engine_, rank_, nodes_.of_member) {}
  OpenMpiWorld(const OpenMpiWorld&) = delete;
  OpenMpiWorld& operator=(const OpenMpiWorld&) = delete;
  ~OpenMpiWorld() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(nodes_.of_member.size()); }
  std::unique_ptr<Group> group() override { return whole(kDataChannel); }
  std::unique_ptr<Group> control_group() override { return whole(kControlChannel); }
  Board& board() override { return board_; }
  [[noreturn]] void exit_all(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  std::unique_ptr<Group> whole(std::uint64_t channel) {
    MemberGroupSpec spec = whole_job(size(), rank_, channel);
    spec.counted = channel == kDataChannel;
    return std::make_unique<MemberGroup>(carrier_, std::move(spec));
  }

  int exceptions_ = std::uncaught_exceptions();
  MPI_Comm comm_;
  int rank_;
  mpi::Nodes nodes_;
  mpi::MpiBoard board_;
  mpi::Engine engine_;
  mpi::MpiCarrier carrier_;
};

OpenMpiWorld::~OpenMpiWorld() {
  if (std::uncaught_exceptions() > exceptions_) {
    engine_.abort(fmt::format("member {} stopped with an error; see its own message", rank_));
  }
  try {
    whole(kEndChannel)->barrier();  // unlike MPI_Finalize, this can be aborted
  } catch (const std::exception&) {
  }
  engine_.stop();
  if (engine_.aborted()) return;
  MPI_Comm_free(&comm_);
  MPI_Finalize();
}

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<MpiWorld> make_mpi_world(std::size_t board_bytes) {
  return std::make_unique<OpenMpiWorld>(board_bytes);
}

}  // namespace plait::transport
