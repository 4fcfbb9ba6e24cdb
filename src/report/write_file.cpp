// Writes through base/out_file: the whole file or none.
#include "report/write_file.hpp"

#include "base/out_file.hpp"

namespace plait::report {

void write_file(const std::string& path, const std::string& text) { write_out_file(path, text); }

}  // namespace plait::report
