// What tells messages between the same two workers apart, from the task on either side.
#include "plan/message_name.hpp"

namespace plait::plan {

MessageName name_of_message(int worker, const Task& task) {
  const Message& message = *message_of(task);
  const bool sends = is<Send>(task);
  MessageName name{.from = sends ? worker : message.peer,
                   .to = sends ? message.peer : worker,
                   .list = message.list,
                   .value = message.value};
  if (name.list >= 0) name.value.index = -1;
  return name;
}

std::size_t MessageNameHash::operator()(const MessageName& name) const {
  std::uint64_t hash = hash_of(name.value);
  for (const int part : {name.from, name.to, name.list}) {
    hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 31;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace plait::plan
