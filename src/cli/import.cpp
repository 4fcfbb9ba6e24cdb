// plait import: the network of an ONNX file as a model and weights to train on.
#include <nlohmann/json.hpp>

#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"
#include "checkpoint/atomic_file.hpp"
#include "cli/interrupt.hpp"
#include "cli/out_place.hpp"
#include "cli/saved_weights.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "graph/model_file.hpp"
#include "graph/parameters.hpp"
#include "graph/shapes.hpp"
#include "onnx/file.hpp"
#include "onnx/to_model.hpp"

namespace plait::cli {

namespace {

namespace fs = std::filesystem;

void write_folder(const fs::path& path, const onnx::ImportedModel& imported) {
  const CleanInterrupt guard;
  const checkpoint::SafetensorsWriter weights(imported.weights);
  checkpoint::AtomicFolder folder(path, weights.bytes());
  FileSink model = folder.create("model.toml");
  model.write(graph::write_model(imported.model));
  model.close();
  FileSink sink = folder.create("weights.safetensors");
  weights.write(sink);
  sink.close();
  folder.commit();
}

int run_import(const Arguments& arguments) {
  const std::string file = arguments.text("FILE", "");
  std::string out = arguments.text("--out", "");
  if (file.empty()) user_error("import needs a file; write plait import FILE.onnx --out FOLDER");
  if (out.empty()) user_error("import writes a folder; add --out FOLDER");
  out = check_new_folder(out, "--out");
  const onnx::ImportedModel imported =
      onnx::to_model(onnx::layers_of(onnx::onnx_graph::read_onnx(file), file),
                     fs::path(file).stem().string(), file);
  for (const std::string& note : imported.notes) tell("plait: {}: {}\n", file, note);
  write_folder(out, imported);
  const graph::ModelSpec& model = imported.model;
  const tensor::Shape outputs = graph::border_shapes(model).back();
  if (arguments.on("--json")) {
    fmt::print("{}\n", nlohmann::ordered_json{{"model", out + "/model.toml"},
                                              {"weights", out + "/weights.safetensors"},
                                              {"blocks", model.blocks.size()},
                                              {"parameters", graph::parameter_count(model)},
                                              {"input", model.input.to_string()},
                                              {"output", outputs.to_string()}}
                           .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", table({{"blocks", std::to_string(model.blocks.size())},
                            {"parameters", with_commas(graph::parameter_count(model))},
                            {"input", model.input.to_string()},
                            {"output", outputs.to_string()},
                            {"written", out + "/model.toml, " + out + "/weights.safetensors"}},
                           2, kLineColumns));
  }
  tell("next: plait eval --model {0}/model.toml \\\n    --init {0}/weights.safetensors --data D\n",
       out);
  return 0;
}

}  // namespace

Verb import_verb() {
  return {.name = "import",
          .about = "Make a model and weights of plait out of an ONNX file.",
          .examples = {"plait import resnet.onnx --out resnet",
                       "plait train --model resnet/model.toml --init resnet/weights.safetensors "
                       "--data cifar10:DIR"},
          .options = {{.name = "FILE", .value = "", .help = "the network, .onnx"},
                      {.name = "--out",
                       .value = "FOLDER",
                       .help = "new: model.toml and weights.safetensors"},
                      {.name = "--json", .value = "", .help = "one JSON object on stdout"}},
          .run = run_import};
}

}  // namespace plait::cli
