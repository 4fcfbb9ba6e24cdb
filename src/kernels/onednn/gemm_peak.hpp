// How fast this machine multiplies matrices: the yardstick benchmarks are held against.
#pragma once

namespace plait::kernels::onednn {

/// 1e9 floating-point operations per second (a multiply-add counts two) of oneDNN's
/// single-precision GEMM on square matrices that fit no cache whole; the best of several runs,
/// about a second in all.
double measure_gemm_gflops(int threads);

}  // namespace plait::kernels::onednn
