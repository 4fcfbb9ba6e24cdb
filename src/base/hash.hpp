// XXH3 over a sequence of byte ranges, printed as 16 hexadecimal digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace plait {

class Hash {
 public:
  Hash();
  ~Hash();
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  std::uint64_t value() const;
  std::string hex() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace plait
