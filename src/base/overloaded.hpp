// overloaded{...}: lambdas as one visitor of a std::variant.
#pragma once

namespace plait {

template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
overloaded(Functions...) -> overloaded<Functions...>;

}  // namespace plait
