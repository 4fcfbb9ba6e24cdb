// Hands the graph to `dot` in a temporary folder.
#include "cli/model_picture.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/out_file.hpp"
#include "cli/out_place.hpp"
#include "data/process.hpp"
#include "graph/graph_text.hpp"

namespace plait::cli {

namespace fs = std::filesystem;

namespace {

class PictureFolder {
 public:
  PictureFolder() {
    std::string name = (fs::temp_directory_path() / "plait-picture-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail("{}: cannot make a temporary folder", name);
    path_ = name;
  }
  ~PictureFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PictureFolder(const PictureFolder&) = delete;
  PictureFolder& operator=(const PictureFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool is_graph_text(const std::string& file) { return file.ends_with(".dot"); }

}  // namespace

void check_model_picture(const std::string& file) {
  if (!is_graph_text(file) && !file.ends_with(".svg")) {
    user_error("--picture {}: a picture is FILE.svg, or FILE.dot for its text", file);
  }
  check_file_place(file, "--picture");
  if (!is_graph_text(file) && !data::on_path("dot")) {
    user_error(
        "--picture {}: pictures are drawn by dot, which is not installed; install the package "
        "graphviz, or write FILE.dot",
        file);
  }
}

void write_model_picture(const graph::ModelSpec& model, const std::string& file) {
  const std::string text = graph::graph_text(model);
  if (is_graph_text(file)) return write_out_file(file, text);
  const PictureFolder folder;
  std::ofstream(folder.path() / "model.dot") << text;
  data::run_command({.arguments = {"dot", "-Tsvg", "-o", "model.svg", "model.dot"},
                     .working_dir = folder.path(),
                     .log_file = folder.path() / "dot.log"});
  std::ostringstream drawn;
  drawn << std::ifstream(folder.path() / "model.svg").rdbuf();
  write_out_file(file, drawn.str());
}

}  // namespace plait::cli
