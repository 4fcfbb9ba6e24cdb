// Any JSON given to the check of report.json is taken or refused with a UserError, and what is
// taken can stand in a page.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "report/page.hpp"
#include "report/record_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Json = nlohmann::ordered_json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Json record = Json::parse(text, nullptr, false);
  if (record.is_discarded()) return 0;
  try {
    plait::report::check_record(record, "fuzz");
  } catch (const plait::UserError&) {
    // the same text inside a page is harmless all the same
  }
  if (plait::report::script_json(record).find('<') != std::string::npos) std::abort();
  return 0;
}
