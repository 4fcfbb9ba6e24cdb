// plait models: the networks known by name, or one of them (or of a file) block by block.
#include <fmt/ranges.h>

#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/model_picture.hpp"
#include "cli/named_network.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "graph/graphchallenge.hpp"
#include "graph/radixnet.hpp"
#include "graph/summary.hpp"
#include "graph/zoo.hpp"
#include "ops/table.hpp"

namespace plait::cli {

namespace {

/// "out, kernel 3, stride as kernel".
std::string keys_of(const ops::OperationInfo& info) {
  std::vector<std::string> keys;
  if (std::holds_alternative<ops::SparseLinear>(info.usual)) keys.emplace_back("matrix");
  for (const ops::Field& field : info.fields) {
    const std::string usual = field.required       ? ""
                              : field.like.empty() ? " " + ops::text_of(field.get(info.usual))
                                                   : fmt::format(" as {}", field.like);
    keys.push_back(fmt::format("{}{}", field.key, usual));
  }
  return fmt::format("{}", fmt::join(keys, ", "));
}

void show_layers() {
  std::vector<Row> rows{{"layer", "ONNX", "PyTorch", "keys in model files"}};
  for (const ops::OperationInfo& info : ops::operations()) {
    rows.push_back(
        {std::string(info.name), std::string(info.onnx), std::string(info.torch), keys_of(info)});
  }
  fmt::print("{}", table(rows, 4, kLineColumns));
}

int run_models(const Arguments& arguments) {
  if (arguments.on("--layers")) {
    show_layers();
    return 0;
  }
  const std::string* name = arguments.find("NAME");
  if (name == nullptr) {
    if (arguments.find("--picture") != nullptr) {
      user_error("--picture draws one network; write plait models NAME --picture FILE.svg");
    }
    std::vector<Row> rows;
    for (const graph::ZooEntry& entry : graph::zoo_names())
      rows.push_back({entry.name, entry.description});
    fmt::print(
        "{}\nplait models NAME shows one of them. FILE.toml is a network of your own,\n"
        "graphchallenge:DIR one of the GraphChallenge's files.\n",
        table(rows, 2, kLineColumns));
    return 0;
  }
  const std::string* picture = arguments.find("--picture");
  if (picture != nullptr) check_model_picture(*picture);
  const graph::ModelSpec network = named_network(arguments, *name);
  if (picture != nullptr) {
    write_model_picture(network, *picture);
    tell("the graph of {} is in {}\n", *name, *picture);
    return 0;
  }
  fmt::print("{}", graph::summary(network));
  return 0;
}

}  // namespace

tensor::Shape usual_input(const std::string& model) {
  if (model.ends_with(".toml")) return {};
  if (model.starts_with("radixnet:")) return {graph::parse_radixnet(model.substr(9)).neurons};
  if (model.starts_with("graphchallenge:"))
    return {graph::graphchallenge_neurons(model.substr(15))};
  for (const std::string_view colour : {"vgg", "resnet", "preresnet", "densenet", "googlenet",
                                        "squeezenet", "mobilenet", "efficientnet", "unet"}) {
    if (model.starts_with(colour)) return {3, 32, 32};
  }
  return {1, 28, 28};
}

Verb models_verb() {
  return {.name = "models",
          .about = "List the networks, or show one block by block.",
          .examples = {"plait models", "plait models vgg16 --data-shape 3x32x32 --classes 10",
                       "plait models unet:16 --picture unet.svg", "plait models --layers"},
          .options = {{.name = "NAME", .value = "", .help = "a name from the list, or FILE.toml"},
                      {.name = "--data-shape",
                       .value = "CxHxW",
                       .help = "shape of one sample; default: what the network usually takes"},
                      {.name = "--layers",
                       .value = "",
                       .help = "list the layers of model files, with their keys"},
                      {.name = "--picture",
                       .value = "FILE",
                       .help = "draw the graph of blocks: FILE.svg (needs Graphviz), or FILE.dot"},
                      {.name = "--classes",
                       .value = "N",
                       .help = "outputs, if a file leaves them open",
                       .standard = "10"}},
          .run = run_models};
}

}  // namespace plait::cli
