// Stands in for zoltan/ where Zoltan is not installed.
#include "partition/zoltan.hpp"

#include "base/error.hpp"

namespace plait::partition {

bool has_zoltan() { return false; }

Parts zoltan_parts(const Hypergraph& /*graph*/, int /*parts*/, double /*tolerance*/,
                   std::uint64_t /*seed*/) {
  user_error(
      "this plait was built without Zoltan: use the method 'merged', which is better, or install "
      "libtrilinos-zoltan-dev and an MPI (libopenmpi-dev) and build again with -DPLAIT_ZOLTAN=ON");
}

}  // namespace plait::partition
