// What one core can do at best in single precision.
#pragma once

namespace plait::bench {

/// Multiply-adds per second in a loop of independent ones in registers, on the calling thread.
double fma_peak();

}  // namespace plait::bench
