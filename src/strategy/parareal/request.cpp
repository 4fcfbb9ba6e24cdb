// Words of the settings as values. The table has refused unknown ones: here they are a bug.
#include "strategy/parareal/request.hpp"

namespace plait::strategy {

TearRequest tear_request(const PararealOptions& options) {
  return {.pieces = static_cast<int>(whole_number(options.pieces).value_or(kBestPieces)),
          .replicas = static_cast<int>(options.replicas),
          .sweeps = static_cast<int>(options.sweeps),
          .coarse = coarse_kind(options.coarse),
          .half_wire = options.residual_wire == "bf16"};
}

}  // namespace plait::strategy
