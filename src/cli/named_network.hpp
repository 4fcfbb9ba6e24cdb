// The network of a verb that has no data: its name or file, with --data-shape and --classes. With
// data, session/setup makes it.
#pragma once

#include <string>

#include "cli/verb.hpp"
#include "graph/spec.hpp"

namespace plait::cli {

/// UserError that names the flag where --data-shape or --classes contradict the file. Without
/// --classes the network's own outputs are the classes; where it has none, they are 10.
graph::ModelSpec named_network(const Arguments& arguments, const std::string& model);
/// The same of a network that can be trained.
graph::ModelSpec trainable_network(const Arguments& arguments, const std::string& model);

/// Where a verb works on weights alone: a model file that says its own input and outputs, named
/// without --data and --run.
bool needs_no_data(const Arguments& arguments, const std::string& model);

}  // namespace plait::cli
