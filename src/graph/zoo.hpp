// The networks plait knows by name. Each is built for the data at hand: its input shape and
// classes.
#pragma once

#include <string>
#include <vector>

#include "graph/spec.hpp"

namespace plait::graph {

struct ZooEntry {
  std::string name;
  std::string description;
};

/// Every name `make_model` takes, with a line about each; families (mlp:..., preresnet...) by
/// example.
std::vector<ZooEntry> zoo_names();

/// UserError for an unknown name (with the closest one and the list), for an input the network
/// cannot take and for classes below 1.
ModelSpec make_model(const std::string& name, const tensor::Shape& input, int classes);

}  // namespace plait::graph
