// What a network returns, and whether that fits the labels of the data.
#pragma once

#include <string>

#include "graph/spec.hpp"

namespace plait::graph {

/// UserError that opens with `where` where the network returns neither a row of outputs nor an
/// image of them (for a label per pixel): no loss takes it.
void check_trainable(const ModelSpec& model, const std::string& where);

/// The same, and UserError where there are fewer outputs than classes. More are fine, as in
/// PyTorch: labels need not all occur.
void check_outputs(const ModelSpec& model, const std::string& where, int classes);

}  // namespace plait::graph
