// MPI_Testsome over the requests under way.
#include "transport/mpi/pending.hpp"

#include <algorithm>

#include "transport/mpi/check.hpp"

namespace plait::transport::mpi {

void Pending::add(MPI_Request request, Part part) {
  requests_.push_back(request);
  parts_.push_back(std::move(part));
}

std::vector<Part> Pending::completed() {
  if (requests_.empty()) return {};
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                indices_.data(), statuses_.data());
  if (code != MPI_ERR_IN_STATUS) check(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED || count == 0) return {};

  std::vector<Part> done;
  for (int i = 0; i < count; ++i) {
    Part& part = parts_[indices_[i]];
    if (code == MPI_ERR_IN_STATUS) check(statuses_[i].MPI_ERROR, "MPI_Testsome");
    done.push_back(std::move(part));
    requests_[indices_[i]] = MPI_REQUEST_NULL;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    if (kept != i) parts_[kept] = std::move(parts_[i]);
    ++kept;
  }
  requests_.resize(kept);
  parts_.resize(kept);
  return done;
}

bool Pending::only_large_sends() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.operation != nullptr && part.operation->sends;
  });
}

void Pending::cancel_receives() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const bool receive = parts_[i].operation != nullptr && !parts_[i].operation->sends;
    if (receive) check(MPI_Cancel(&requests_[i]), "MPI_Cancel");
  }
}

}  // namespace plait::transport::mpi
