// The picture of a network: its graph of blocks as .svg, drawn by Graphviz, or as .dot text.
#pragma once

#include <string>

#include "graph/spec.hpp"

namespace plait::cli {

/// UserError for another kind of file, a place that cannot be written, and where Graphviz is
/// missing.
void check_model_picture(const std::string& file);
void write_model_picture(const graph::ModelSpec& model, const std::string& file);

}  // namespace plait::cli
