// The layers of a block as JSON and back, with every field. Sparse layers are not written out: they
// name a matrix of the model by its hash (json_sparse.hpp). Inside this room only.
#pragma once

#include "graph/spec.hpp"
#include "plan/json_fields.hpp"

namespace plait::plan {

/// Of every kind but sparse layers.
Json layer_json(const ops::Operation& layer);
ops::Operation read_layer(const JsonField& field);

}  // namespace plait::plan
