// plait report: one HTML page of one run, or of several beside each other.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/out_place.hpp"
#include "cli/run_report.hpp"
#include "cli/saved_weights.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "report/write_file.hpp"

namespace plait::cli {

namespace {

namespace fs = std::filesystem;

/// Legends are short: folders are called by their last part where that tells them apart.
void shorten_names(std::vector<report::PageRun>& runs) {
  std::set<std::string> names;
  for (const report::PageRun& run : runs) names.insert(fs::path(run.name).filename().string());
  if (names.size() < runs.size()) return;
  for (report::PageRun& run : runs) run.name = fs::path(run.name).filename().string();
}

int run_report(const Arguments& arguments) {
  const std::vector<std::string> folders = arguments.all("RUN");
  std::vector<report::PageRun> runs;
  for (const std::string& folder : folders) runs.push_back(page_run(folder));
  const std::string usual =
      folders.size() == 1 ? (fs::path(folders.front()) / "report.html").string() : "report.html";
  const std::string out = arguments.text("--out", usual);
  check_file_place(out, "--out", ".html");
  if (runs.size() > 1) shorten_names(runs);
  const std::string page = report::page_html(report::script_json(report::page_data(runs)));
  report::write_file(out, page);
  if (arguments.on("--json")) {
    nlohmann::ordered_json answer{{"file", out}, {"bytes", page.size()}, {"runs", folders}};
    fmt::print("{}\n", answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    tell("{} ({}): open it in a browser, it needs no network\n", out,
         with_bytes(static_cast<std::int64_t>(page.size())));
  }
  return 0;
}

}  // namespace

Verb report_verb() {
  return {.name = "report",
          .about = "Draw one run, or compare several, on one HTML page.",
          .examples = {"plait report runs/001-lenet",
                       "plait report runs/001-vgg16 runs/002-vgg16 --out comparison.html"},
          .options = {{.name = "RUN",
                       .value = "",
                       .help = "run folders, made by plait train",
                       .required = true,
                       .repeated = true},
                      {.name = "--out",
                       .value = "FILE.html",
                       .help = "the page to write",
                       .standard = "RUN/report.html; of several runs report.html"},
                      {.name = "--json", .value = "", .help = "one JSON object on stdout"}},
          .run = run_report};
}

}  // namespace plait::cli
