// Recognises the kind of a weights file and whose names it has, by counting names that only one
// side uses.
#include "cli/weights_file.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "checkpoint/shown.hpp"
#include "cli/terminal.hpp"
#include "graph/torch_names.hpp"
#include "onnx/file.hpp"
#include "onnx/match.hpp"

namespace plait::cli {

namespace {

using Names = std::map<std::string, std::string>;

WeightsFile read_onnx_weights(const std::string& file, const graph::ModelSpec& model) {
  const onnx::onnx_graph::Graph graph = onnx::onnx_graph::read_onnx(file);
  onnx::MatchedWeights matched =
      onnx::match_weights(model, onnx::layers_of(graph, file, model.input), file);
  WeightsFile read{.tensors = std::move(matched.tensors)};
  if (matched.folded > 0) {
    read.note = fmt::format(
        "{}: {} BatchNorm(s) were folded into convolutions when it was saved; here they start "
        "without running statistics",
        file, matched.folded);
  }
  return read;
}

/// How many of the tensors have a name that only one of the two ways gives, or both.
struct Votes {
  std::size_t ours = 0;
  std::size_t theirs = 0;
  std::size_t both = 0;
};

Votes count(const std::vector<checkpoint::NamedTensor>& tensors, const Names& to_theirs,
            const Names& to_ours) {
  Votes votes;
  for (const checkpoint::NamedTensor& one : tensors) {
    const bool ours = to_theirs.contains(one.name);
    const bool theirs = to_ours.contains(one.name);
    votes.ours += ours && !theirs ? 1 : 0;
    votes.theirs += theirs && !ours ? 1 : 0;
    votes.both += ours && theirs ? 1 : 0;
  }
  return votes;
}

/// PyTorch's count of batches that a BatchNorm has seen, which nobody reads.
bool is_counter(const std::string& name, const Names& to_ours) {
  constexpr std::string_view counter = "num_batches_tracked";
  return name.ends_with(counter) &&
         to_ours.contains(name.substr(0, name.size() - counter.size()) + "running_mean");
}

}  // namespace

WeightsFile read_weights(const std::string& file, const graph::ModelSpec& model) {
  if (file.ends_with(".onnx")) return read_onnx_weights(file, model);
  std::vector<checkpoint::NamedTensor> tensors = checkpoint::read_safetensors(file).tensors;
  const Names to_theirs = graph::torch_names(model);
  if (to_theirs.empty() || tensors.empty()) {
    Names there;  // an imported network has PyTorch's names itself
    for (const checkpoint::NamedTensor& one : tensors) there[one.name] = one.name;
    std::erase_if(tensors,
                  [&](const checkpoint::NamedTensor& one) { return is_counter(one.name, there); });
    return {std::move(tensors)};
  }
  Names to_ours;
  for (const auto& [ours, theirs] : to_theirs) to_ours[theirs] = ours;
  const Votes votes = count(tensors, to_theirs, to_ours);
  if (votes.ours > 0) return {std::move(tensors)};
  if (votes.theirs + votes.both == 0) {
    const auto& [ours, theirs] = *to_theirs.begin();
    user_error(
        "{}: {} is a name neither of plait ('{}') nor of PyTorch ('{}'); is the file of another "
        "model than {}?",
        file, checkpoint::shown(tensors.front().name), ours, theirs, model.name);
  }
  std::erase_if(tensors,
                [&](const checkpoint::NamedTensor& one) { return is_counter(one.name, to_ours); });
  for (checkpoint::NamedTensor& one : tensors) {
    const auto found = to_ours.find(one.name);
    if (found == to_ours.end()) {
      user_error("{}: tensor {} is not in {}; is the file of another model?", file,
                 checkpoint::shown(one.name), model.name);
    }
    one.name = found->second;
  }
  return {std::move(tensors)};
}

std::vector<checkpoint::NamedTensor> read_weights_aloud(const std::string& file,
                                                        const graph::ModelSpec& model) {
  WeightsFile read = read_weights(file, model);
  if (!read.note.empty()) tell("plait: {}\n", read.note);
  return std::move(read.tensors);
}

std::vector<checkpoint::NamedTensor> with_torch_names(std::vector<checkpoint::NamedTensor> weights,
                                                      const graph::ModelSpec& model) {
  const Names names = graph::torch_names(model);
  if (names.empty()) {
    user_error(
        "--names pytorch is for networks that torchvision has; there is no PyTorch network like {}",
        model.name);
  }
  for (checkpoint::NamedTensor& one : weights) {
    const auto found = names.find(one.name);
    if (found == names.end()) {
      user_error("--names pytorch: '{}' has no name in PyTorch; for a split network add --serial",
                 one.name);
    }
    one.name = found->second;
  }
  return weights;
}

}  // namespace plait::cli
