// Puts the page's style, scripts and data into its HTML frame. Data are JSON without "<", so they
// cannot become markup.
#include "report/page.hpp"

#include "base/error.hpp"
#include "report/page_files.hpp"

namespace plait::report {

using Json = nlohmann::ordered_json;

namespace {

void put(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t at = page.find(mark);
  if (at == std::string::npos) fail("the report page has no placeholder for {}", mark);
  page.replace(at, mark.size(), text);
}

}  // namespace

Json page_data(const std::vector<PageRun>& runs) {
  Json list = Json::array();
  for (const PageRun& run : runs) {
    list.push_back({{"name", run.name},
                    {"settings", run.settings},
                    {"config", run.files.config},
                    {"epochs", run.files.epochs},
                    {"record", run.files.record}});
  }
  return {{"runs", std::move(list)}};
}

std::string script_json(const Json& data) {
  const std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {  // only ever inside a text, where this means the same
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string page_html(const std::string& data, bool live) {
  std::string page(kPageHtml);
  put(page, "/*style*/", kPageStyle);
  put(page, "/*script*/", kPageScript);
  put(page, "\"/*live*/\"", live ? "true" : "false");
  put(page, "\"/*data*/\"", data);
  return page;
}

}  // namespace plait::report
