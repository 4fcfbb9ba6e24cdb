// SparseKernels made when first wanted, once per pattern: chains for different numbers of samples
// share them.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "kernels/sparse/sparse_kernels.hpp"

namespace plait::kernels::sparse {

class KernelCache {
 public:
  std::shared_ptr<const SparseKernels> get(
      const std::shared_ptr<const tensor::SparsePattern>& pattern) {
    const std::lock_guard lock(mutex_);
    Entry& entry = kernels_[pattern.get()];
    if (entry.kernels == nullptr) {
      entry = {pattern, std::make_shared<const SparseKernels>(*pattern)};
    }
    return entry.kernels;
  }

 private:
  struct Entry {
    std::shared_ptr<const tensor::SparsePattern> pattern;  ///< keeps the address taken
    std::shared_ptr<const SparseKernels> kernels;
  };
  std::mutex mutex_;
  std::map<const tensor::SparsePattern*, Entry> kernels_;
};

}  // namespace plait::kernels::sparse
