// Fewer minibatches in flight where that costs no time. A play without a short period freezes into
// offsets that are sometimes one larger than needed: older weights and more memory for nothing.
#pragma once

#include "cost/cost_model.hpp"

namespace plait::strategy::pipeline {

/// Lowers offsets, worker by worker, as long as the plan stays sound and its simulated step does
/// not become longer. Sets the delays anew. Returns the step's seconds.
double tighten(plan::Plan& plan, const cost::CostModel& cost);

}  // namespace plait::strategy::pipeline
