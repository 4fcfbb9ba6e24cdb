// The verbs of the program, each in a file of its own name.
#pragma once

#include "cli/config_file.hpp"
#include "cli/verb.hpp"
#include "tensor/shape.hpp"
#include "transport/mpi.hpp"

namespace plait::cli {

/// `mpi`: null where workers are threads.
Verb train_verb(transport::MpiWorld* mpi);
Verb plan_verb();
Verb report_verb();
Verb eval_verb();
Verb export_verb();
Verb import_verb();
Verb infer_verb();
Verb profile_verb();
Verb partition_verb();
Verb prune_verb();
Verb data_verb();
Verb models_verb();

/// What a network is usually fed, where the user says nothing; rank 0 for a file, which says it
/// itself.
tensor::Shape usual_input(const std::string& model);

/// The options of the fields with these keys, in the table's order; no keys: of all fields.
std::vector<Option> field_options(const std::vector<std::string_view>& keys = {});
/// The fields' flags that the user gave.
FlagValues field_flags(const Arguments& arguments);

}  // namespace plait::cli
