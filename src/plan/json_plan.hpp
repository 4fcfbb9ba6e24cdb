// What the writer and the reader of plans as documents share. Inside this room only.
#pragma once

namespace plait::plan {

/// Of the document's form.
constexpr int kPlanVersion = 2;

}  // namespace plait::plan
