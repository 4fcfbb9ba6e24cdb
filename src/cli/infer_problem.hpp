// What plait infer is asked: a sparse network, images, and the images that must have an output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "graph/graphchallenge.hpp"
#include "tensor/sparse_pattern.hpp"

namespace plait::cli {

struct InferProblem {
  std::string model;
  graph::GraphChallenge network;
  tensor::SparsePattern images;
  std::optional<std::vector<std::int64_t>> truth;  ///< from 1
  int threads = 1;
  double read_seconds = 0;
};

/// Read from files or generated. UserError on what does not fit together.
InferProblem read_infer_problem(const Arguments& arguments);

}  // namespace plait::cli
