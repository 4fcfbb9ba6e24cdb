// The files of page/, put into the program when it is built (cmake/PlaitPage.cmake).
#pragma once

#include <string_view>

namespace plait::report {

extern const std::string_view kPageHtml;
extern const std::string_view kPageStyle;   ///< the .css files
extern const std::string_view kPageScript;  ///< the .js files, in the order of their names

}  // namespace plait::report
