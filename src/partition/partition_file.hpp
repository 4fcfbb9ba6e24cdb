// Partitions of sparse networks as .safetensors files.
#pragma once

#include <string>

#include "checkpoint/safetensors.hpp"
#include "partition/partition.hpp"

namespace plait::partition {

void write_partition(const std::string& path, const PartitionRecord& record);
/// UserError with the file's name for a damaged one, and for one that is no partition.
PartitionRecord read_partition(const std::string& path);
PartitionRecord to_partition(const checkpoint::SafetensorsFile& file);

}  // namespace plait::partition
