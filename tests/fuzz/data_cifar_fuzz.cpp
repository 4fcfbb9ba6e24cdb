// Any bytes as a CIFAR-10 or CIFAR-100 file: whole records or a UserError, nothing else.
#include "base/error.hpp"
#include "data/cifar.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const plait::data::CifarFormat format : {plait::data::kCifar10, plait::data::kCifar100}) {
    try {
      plait::data::CifarRecords records;
      plait::data::parse_cifar({data, size}, "fuzz", format, records);
      if (records.pixels.size() != records.labels.size() * 3072) __builtin_trap();
    } catch (const plait::UserError&) {
    }
  }
  return 0;
}
