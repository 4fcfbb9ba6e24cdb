// Any text is either refused by a UserError or a model that can be counted, printed and read back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "graph/input_type.hpp"
#include "graph/model_file.hpp"
#include "graph/summary.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const plait::tensor::Shape& input : {plait::tensor::Shape{3, 32, 32}, {}}) {
    try {
      const plait::graph::ModelSpec model = plait::graph::parse_model(text, "fuzz.toml", input, 10);
      if (model.blocks.size() > 1000) return 0;  // keeps the fuzzer quick
      plait::graph::summary(model);
      plait::graph::id_limit(model);
      if (!(plait::graph::parse_model(plait::graph::write_model(model), "fuzz.toml", {}, 10) ==
            model))
        std::abort();
    } catch (const plait::UserError&) {
    }
  }
  return 0;
}
