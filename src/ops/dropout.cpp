// The limits of dropout.
#include "ops/dropout.hpp"

#include "base/error.hpp"
#include "ops/table.hpp"

namespace plait::ops {

std::string Dropout::text() const { return fmt::format("dropout {}", probability); }

tensor::Shape Dropout::result(std::span<const tensor::Shape> srcs, const std::string& where) const {
  if (!(probability >= 0 && probability < 1)) {
    user_error("{}: dropout probability {} is not in [0, 1)", where, probability);
  }
  return srcs[0];
}

std::vector<OperationInfo> Dropout::describe() {
  return {{.name = "dropout",
           .torch = "Dropout",
           .usual = Dropout{},
           .fields = {
               field(&Dropout::probability, {.key = "probability", .most = 1, .always = true}),
           }}};
}

}  // namespace plait::ops
