// Any .safetensors bytes given to the reader of partitions are a partition or refused with a
// UserError, and so is one held against a network that it may not be of.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.hpp"
#include "partition/partition_file.hpp"

namespace {

std::vector<std::shared_ptr<const plait::tensor::SparsePattern>> small_network() {
  const auto layer =
      std::make_shared<const plait::tensor::SparsePattern>(plait::tensor::SparsePattern{
          .rows = 2, .columns = 2, .row_begin = {0, 1, 2}, .column = {0, 1}});
  return {layer, layer};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto network = small_network();
  try {
    plait::partition::PartitionRecord record = plait::partition::to_partition(
        plait::checkpoint::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz"));
    if (record.partition.parts < 1) std::abort();
    record.network = plait::partition::layers_hash(network);
    plait::partition::check_record(record, network, "fuzz");
    for (const auto& owners : record.partition.owners) {
      if (owners.size() != 2) std::abort();
      for (const std::int32_t owner : owners) {
        if (owner < 0 || owner >= record.partition.parts) std::abort();
      }
    }
  } catch (const plait::UserError&) {
  }
  return 0;
}
