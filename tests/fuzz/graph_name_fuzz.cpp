// Any name is either refused by a UserError or a network of the zoo; the first byte picks the
// input.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "graph/macs.hpp"
#include "graph/zoo.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const plait::tensor::Shape inputs[] = {{3, 32, 32}, {1, 28, 28},        {7}, {3, 224, 224}, {},
                                         {1, 1, 1},   {4096, 4096, 65536}};
  const std::string name(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    plait::graph::model_cost(
        plait::graph::make_model(name, inputs[data[0] % std::size(inputs)], 10));
  } catch (const plait::UserError&) {
  }
  return 0;
}
