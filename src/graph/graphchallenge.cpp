// Layers, images and categories of the GraphChallenge's files: which files of a folder belong
// together, and their lines.
#include "graph/graphchallenge.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "graph/matrix_lines.hpp"
#include "graph/number_lines.hpp"
#include "graph/radixnet.hpp"

namespace plait::graph {

namespace {

constexpr std::size_t kMinLineBytes = 6;  // "1\t1\t1\n"

struct LayerFile {
  std::int64_t neurons = 0;
  std::int64_t number = 0;
  std::string path;
};

/// Takes `prefix` and a number without leading zeros from the front of `text`.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  if (text.starts_with('0') || text.starts_with('-')) return {};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<LayerFile> layer_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::string_view rest = name;
  const auto neurons = take_number(rest, "n");
  const auto number = take_number(rest, "-l");
  if (!neurons || !number || rest != ".tsv") return {};
  return LayerFile{*neurons, *number, path.string()};
}

std::vector<LayerFile> files_of(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    user_error("{}: is not a folder; unpack the network and name the folder of its .tsv files",
               folder);
  }
  std::vector<LayerFile> files;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (auto file = layer_file(entry->path())) files.push_back(std::move(*file));
  }
  if (error) user_error("{}: cannot be listed: {}", folder, error.message());
  if (files.empty()) {
    user_error("{}: no layer n<NEURONS>-l<K>.tsv in this folder; unpack the network there", folder);
  }
  std::ranges::sort(files, {}, [](const LayerFile& f) { return std::pair(f.number, f.neurons); });
  return files;
}

/// All layers of one network, from 1 on without a gap.
void check_files(const std::vector<LayerFile>& files, const std::string& folder) {
  const LayerFile& first = files.front();
  for (const LayerFile& file : files) {
    if (file.neurons == first.neurons) continue;
    user_error("{}: layers of {} and of {} neurons; keep one network in a folder", folder,
               std::min(first.neurons, file.neurons), std::max(first.neurons, file.neurons));
  }
  if (first.neurons > kMaxRadixNetNeurons) {
    user_error("{}: {} neurons are more than the limit of {}", first.path, first.neurons,
               kMaxRadixNetNeurons);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto wanted = static_cast<std::int64_t>(i) + 1;
    if (files[i].number == wanted) continue;
    user_error("{}: n{}-l{}.tsv is missing but layer {} exists; unpack the network again", folder,
               first.neurons, wanted, files[i].number);
  }
}

std::uint32_t line_of(const NumberLines& lines) { return static_cast<std::uint32_t>(lines.line()); }

}  // namespace

tensor::SparseMatrix parse_graphchallenge_layer(std::string_view text, std::int64_t neurons,
                                                const std::string& source) {
  std::vector<LineEntry> entries;
  entries.reserve(text.size() / kMinLineBytes + 1);
  NumberLines lines(text, source);
  while (lines.next()) {
    LineEntry entry{.line = line_of(lines)};
    entry.column = static_cast<std::int32_t>(lines.integer("row", 1, neurons) - 1);
    entry.row = static_cast<std::int32_t>(lines.integer("column", 1, neurons) - 1);
    entry.value = lines.number("weight");
    lines.end_of_line();
    entries.push_back(entry);
  }
  if (entries.empty()) user_error("{}: no connection in this layer; unpack it again", source);
  return matrix_of_lines(neurons, neurons, std::move(entries), source);
}

std::int64_t graphchallenge_neurons(const std::string& folder) {
  const std::vector<LayerFile> files = files_of(folder);
  check_files(files, folder);
  return files.front().neurons;
}

GraphChallenge read_graphchallenge(const std::string& folder) {
  const std::vector<LayerFile> files = files_of(folder);
  check_files(files, folder);
  GraphChallenge network{
      .neurons = files.front().neurons, .bias = radixnet_bias(files.front().neurons), .layers = {}};
  for (const LayerFile& file : files) {
    network.layers.push_back(
        parse_graphchallenge_layer(read_number_file(file.path), network.neurons, file.path));
  }
  return network;
}

tensor::SparsePattern read_sparse_images(const std::string& file, std::int64_t neurons) {
  const std::string text = read_number_file(file);
  std::vector<LineEntry> entries;
  entries.reserve(text.size() / kMinLineBytes + 1);
  std::int64_t images = 0;
  NumberLines lines(text, file);
  while (lines.next()) {
    const std::int64_t image = lines.integer("image", 1, kMaxMatrixSide);
    const std::int64_t pixel = lines.integer("pixel", 1, neurons);
    if (lines.number("value") != 1) lines.refuse("the value of a pixel must be 1");
    lines.end_of_line();
    images = std::max(images, image);
    entries.push_back({.row = static_cast<std::int32_t>(image - 1),
                       .column = static_cast<std::int32_t>(pixel - 1),
                       .value = 1,
                       .line = line_of(lines)});
  }
  if (entries.empty()) user_error("{}: contains no pixels; unpack the images again", file);
  return *matrix_of_lines(images, neurons, std::move(entries), file).pattern;
}

std::vector<std::int64_t> read_categories(const std::string& file) {
  const std::string text = read_number_file(file);
  std::vector<std::int64_t> images;
  NumberLines lines(text, file);
  while (lines.next()) {
    images.push_back(lines.integer("image", 1, kMaxMatrixSide));
    lines.end_of_line();
    if (images.size() > 1 && images.back() <= images[images.size() - 2]) {
      lines.refuse("the images must be in ascending order, each once");
    }
  }
  return images;
}

}  // namespace plait::graph
