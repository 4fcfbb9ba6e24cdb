// Any bytes as an NPY file of inputs and of targets: values that fit the shape or a UserError.
#include "base/error.hpp"
#include "data/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const plait::data::NpyInputs inputs = plait::data::parse_npy_inputs({data, size}, "fuzz");
    const std::size_t count = std::visit([](const auto& v) { return v.size(); }, inputs.values);
    if (static_cast<std::size_t>(inputs.shape.elements()) != count) __builtin_trap();
  } catch (const plait::UserError&) {
  }
  try {
    const plait::data::NpyInputs ids = plait::data::parse_npy_ids({data, size}, "fuzz");
    const auto& values = std::get<std::vector<std::int32_t>>(ids.values);
    if (static_cast<std::size_t>(ids.shape.elements()) != values.size()) __builtin_trap();
  } catch (const plait::UserError&) {
  }
  try {
    const plait::data::NpyTargets targets = plait::data::parse_npy_targets({data, size}, "fuzz");
    if (static_cast<std::size_t>(targets.shape.elements()) != targets.values.size())
      __builtin_trap();
  } catch (const plait::UserError&) {
  }
  return 0;
}
