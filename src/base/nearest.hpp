// The known word closest to a misspelt one, for "did you mean" in error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// Empty when nothing is close (edit distance above a third of the word's length, at least 2).
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// " (did you mean 'x'?)" or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace plait
