// Messages: the send and receive tasks of one worker: tensors, their gradients, what blocks save,
// weights and gradients of weights.
#pragma once

#include <deque>

#include "run/task_log.hpp"
#include "run/worker_parts.hpp"

namespace plait::run {

class Messages {
 public:
  Messages(const WorkerParts& parts, TaskLog& log);

  /// Posts the receives of a step, so that no sender waits for this worker. Weights and their
  /// gradients are received later: their memory is in use until then.
  void post_receives(std::int64_t step, const plan::MinibatchRange& range);
  void send(const TaskRun& at);
  void receive(const TaskRun& at);
  /// Before a block's weights change: waits until all receivers have taken them.
  void finish_sending_weights(std::size_t block);
  /// The same, before its gradient begins anew.
  void finish_sending_gradient(std::size_t block);

 private:
  /// Of a task; unused where it is no message.
  struct Binding {
    int message = -1;  ///< slot of what travels
    int tensor = -1;   ///< slot of what is packed into it, or unpacked from it
    int tag = 0;
    bool copied =
        false;  ///< it is received too: the next one may come while this one is on its way
  };
  /// What is on its way and may change meanwhile.
  struct Copy {
    std::shared_ptr<std::byte> bytes;
    std::size_t size = 0;
    transport::Request request{};
  };

  Binding bind(const plan::Task& task) const;
  std::size_t bytes_of(const TaskRun& at) const;
  /// The tensor of a message that is packed whole.
  std::span<float> tensor_of(const TaskRun& at) const;
  void pack(const TaskRun& at);
  void unpack(const TaskRun& at);
  void send_weights(const TaskRun& at);
  /// Of an array of the block: as a copy where steps overlap, else it stays as it is until `sends`
  /// are done.
  void send_array(const TaskRun& at, std::span<const std::byte> bytes,
                  std::vector<transport::Request>& sends);
  void receive_weights(const TaskRun& at);
  void send_gradient(const TaskRun& at);
  void receive_gradient(const TaskRun& at);
  void send_copy(const TaskRun& at, std::span<const std::byte> bytes);

  WorkerParts parts_;
  TaskLog& log_;
  std::vector<Binding> bound_;                ///< per task
  std::vector<transport::Request> receives_;  ///< per task
  bool steps_overlap_;                        ///< then weights and gradients are sent as copies
  std::deque<Copy> copies_;
  std::vector<std::vector<transport::Request>> weight_sends_;    ///< per block
  std::vector<std::vector<transport::Request>> gradient_sends_;  ///< per block
};

}  // namespace plait::run
