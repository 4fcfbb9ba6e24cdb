// A plan's network as JSON and back. What is read can be computed: layers fit each other and the
// tensors, and counts are those of the layers. Inside this room only.
#pragma once

#include "plan/json_fields.hpp"
#include "plan/network.hpp"

namespace plait::plan {

/// `late` is the staleness of every block, for those who read it with their eyes.
Json network_json(const Network& network, const std::vector<int>& late);

/// Model null: where there are sparse layers, a UserError.
Network read_network(const JsonField& field, const graph::ModelSpec* model);

/// Shapes, sizes and counts of all blocks. UserError through `field`, which is the network's.
void check_layers(const Network& network, const JsonField& field);

/// UserError unless every block of the model is in the network, as the model has it, or in pieces.
void check_is_of_model(const Network& network, const graph::ModelSpec& model,
                       const JsonField& field);

}  // namespace plait::plan
