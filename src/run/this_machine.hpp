// What tells this machine and this build of the program from others.
#pragma once

#include <string>

namespace plait::run {

/// "" where the system does not say.
std::string processor_name();

/// Of this very program's file: another build may add in another order, and take another time. ""
/// where it cannot be read.
std::string program_hash();

}  // namespace plait::run
