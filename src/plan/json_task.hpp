// One task as JSON and back. Fields with their usual value are left out. Inside this room only.
#pragma once

#include "plan/json_fields.hpp"
#include "plan/task.hpp"

namespace plait::plan {

Json samples_json(const Samples& samples);
Samples read_samples(const JsonField& field);

Json task_json(const Task& task);
/// Indices are not looked at: the check does.
Task read_task(const JsonField& field);

}  // namespace plait::plan
