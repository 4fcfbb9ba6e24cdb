// Any text given as a plan is read or refused with a UserError, and what is read is written as a
// document that is read as the same plan.
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "plan/json.hpp"
#include "plan_json_model.hpp"

namespace {

template <class... Model>
void read(std::string_view text, const Model&... model) {
  try {
    const plait::plan::Plan plan = plait::plan::plan_from_json(text, "fuzz", model...);
    const std::string written = plait::plan::to_json(plan);
    if (!(plait::plan::plan_from_json(written, "written", model...) == plan)) std::abort();
  } catch (const plait::UserError&) {
    // refused
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const plait::graph::ModelSpec model = plait::plan_json_model();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read(text, model);
  return 0;
}
