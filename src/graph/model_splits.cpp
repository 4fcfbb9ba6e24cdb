// Splits become slices, inside blocks and between them.
#include "graph/model_splits.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/error.hpp"
#include "graph/shapes.hpp"

namespace plait::graph {

namespace {

/// "qkv.0" is output 0 of "qkv".
struct OutputName {
  std::string split;
  std::int64_t number = -1;
};

std::optional<OutputName> output_name(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot + 1 == name.size()) return {};
  OutputName output{.split = name.substr(0, dot)};
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + dot + 1, end, output.number);
  const bool plain = error == std::errc() && stop == end && output.number >= 0 &&
                     std::to_string(output.number) == name.substr(dot + 1);
  return plain ? std::optional(output) : std::nullopt;
}

std::string outputs_text(const std::string& name, const FileSplit& split) {
  return split.sizes.size() == 1 ? name + ".0"
                                 : fmt::format("{0}.0 to {0}.{1}", name, split.sizes.size() - 1);
}

std::int64_t total(const FileSplit& split) {
  return std::accumulate(split.sizes.begin(), split.sizes.end(), std::int64_t{0});
}

ops::Slice slice_of(const FileSplit& split, const OutputName& output, const std::string& where) {
  if (output.number >= std::ssize(split.sizes)) {
    user_error("{}split '{}' has no output {}; there are {}", where, output.split, output.number,
               outputs_text(output.split, split));
  }
  const auto number = static_cast<std::size_t>(output.number);
  const auto before = split.sizes.begin() + static_cast<std::ptrdiff_t>(number);
  return {.start = std::accumulate(split.sizes.begin(), before, std::int64_t{0}),
          .length = split.sizes[number],
          .axis = split.axis};
}

}  // namespace

void ModelSplits::expand(std::vector<FileLayer>& layers, const std::string& block,
                         const TomlReader& reader) {
  struct Inner {
    FileSplit split;
    std::string source;
    std::string where;
    bool read = false;
  };
  std::map<std::string, Inner> splits;
  std::vector<FileLayer> result;
  std::string previous = "input";
  bool after_split = false;
  end_.reset();
  for (FileLayer& layer : layers) {
    const std::string where = reader.place(layer.line);
    if (after_split && !layer.from) {
      user_error("{}the layer before is split '{}'; write from = \"{}.0\", or another one of {}",
                 where, previous, previous, outputs_text(previous, splits.at(previous).split));
    }
    for (std::string& from : layer.from ? *layer.from : std::vector<std::string>()) {
      if (splits.contains(from)) {
        user_error("{}from = '{}' is a split; name one of its outputs, {}", where, from,
                   outputs_text(from, splits.at(from).split));
      }
      const std::optional<OutputName> output = output_name(from);
      const auto found = output ? splits.find(output->split) : splits.end();
      if (found == splits.end()) continue;
      found->second.read = true;
      const bool made =
          std::ranges::any_of(result, [&](const FileLayer& one) { return one.name == from; });
      if (made) continue;
      FileLayer slice{.layer = slice_of(found->second.split, *output, where),
                      .name = from,
                      .from = {{found->second.source}},
                      .line = layer.line};
      slices_.push_back({block, from, total(found->second.split), found->second.where});
      result.push_back(std::move(slice));
    }
    after_split = layer.split.has_value();
    if (!after_split) {
      if (const auto shadowed = output_name(*layer.name);
          shadowed && splits.contains(shadowed->split)) {
        user_error("{}a layer is called '{}', as an output of split '{}' is; rename one of them",
                   where, *layer.name, shadowed->split);
      }
      previous = *layer.name;
      result.push_back(std::move(layer));
      continue;
    }
    if (layer.from && layer.from->size() != 1) user_error("{}a split reads one tensor", where);
    const std::string source = layer.from ? layer.from->front() : previous;
    if (&layer == &layers.back()) {
      if (source != previous) {
        user_error("{}a split at the end of a block cuts the layer before it, not '{}'", where,
                   source.substr(0, 60));
      }
      end_ = {.split = *layer.split, .name = block, .where = where};
    } else if (!splits.emplace(*layer.name, Inner{*layer.split, source, where}).second) {
      user_error("{}two splits are called '{}'; give every one its own name", where, *layer.name);
    }
    previous = *layer.name;
  }
  for (const auto& [name, inner] : splits) {
    if (!inner.read) user_error("{}nothing reads split '{}'", reader.place(reader.line()), name);
  }
  layers = std::move(result);
}

void ModelSplits::finish(const std::string& block, int source) {
  last_.clear();
  if (!end_) return;
  end_->source = source;
  if (!ended_.emplace(block, *end_).second) {
    user_error("{}block '{}' occurs twice; give every block its own name", end_->where, block);
  }
  last_ = block;
  end_.reset();
}

void ModelSplits::refuse_shadow(const std::string& block, const std::string& where) const {
  const std::optional<OutputName> output = output_name(block);
  const auto found = output ? ended_.find(output->split) : ended_.end();
  if (found == ended_.end() || output->number >= std::ssize(found->second.split.sizes)) return;
  user_error(
      "{}block '{}' has the name of output {} of the split of block '{}'; rename one of them",
      where, block, output->number, output->split);
}

std::optional<int> ModelSplits::output(const std::string& name, const std::string& where) {
  if (const auto whole = ended_.find(name); whole != ended_.end()) {
    user_error("{}inputs: '{}' ends in a split; name one of its outputs, {}", where, name,
               outputs_text(name, whole->second.split));
  }
  const std::optional<OutputName> output = output_name(name);
  const auto found = output ? ended_.find(output->split) : ended_.end();
  if (found == ended_.end()) return {};
  Ended& ended = found->second;
  if (const auto made = ended.blocks.find(output->number); made != ended.blocks.end()) {
    return made->second;
  }
  const ops::Slice slice = slice_of(ended.split, *output, where);
  const int index = static_cast<int>(model_.blocks.size());
  BlockSpec block{.name = name, .nodes = {}};
  if (ended.source != index - 1) block.inputs = {ended.source};
  block.then("slice", slice);
  model_.blocks.push_back(std::move(block));
  slices_.push_back({name, "slice", total(ended.split), ended.where});
  ended.blocks.emplace(output->number, index);
  return index;
}

void ModelSplits::refuse_silent_reader(const std::string& where) const {
  if (last_.empty()) return;
  user_error("{}the block before, '{}', ends in a split; write inputs = [\"{}.0\"] or others of {}",
             where, last_, last_, outputs_text(last_, ended_.at(last_).split));
}

void ModelSplits::check_read() const {
  for (const auto& [name, ended] : ended_) {
    if (!ended.blocks.empty()) continue;
    user_error("{}nothing reads the split of block '{}'", ended.where, name);
  }
}

void ModelSplits::check_slice(const BlockSpec& block, const Node& node,
                              const tensor::Shape& src) const {
  const auto* slice = std::get_if<ops::Slice>(&node.layer);
  if (slice == nullptr) return;
  const auto is_copy = [&](const std::string& of) {  // "NAME.0" of a block that is repeated
    return block.name.starts_with(of + ".") && block.name.size() > of.size() + 1 &&
           block.name.find_first_not_of("0123456789", of.size() + 1) == std::string::npos;
  };
  const bool has_own = std::ranges::find(slices_, block.name, &SplitSlice::block) != slices_.end();
  for (const SplitSlice& one : slices_) {
    const bool here = block.name == one.block || (!has_own && is_copy(one.block));
    if (!here || node.name != one.node) continue;
    if (slice->axis >= std::ssize(src.dims())) {
      user_error("{}a split along axis {} of {}, which has {} (0 to {})", one.where, slice->axis,
                 src, src.rank(), src.rank() - 1);
    }
    const std::int64_t extent = src[static_cast<std::size_t>(slice->axis)];
    if (extent == one.whole) continue;
    user_error("{}the sizes of the split add up to {}, but its input {} has {} along axis {}",
               one.where, one.whole, src, extent, slice->axis);
  }
}

}  // namespace plait::graph
