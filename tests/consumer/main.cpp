// Uses plait as an outsider does: counts the parameters of a zoo network (the literature's number
// for VGG-16 on 32x32 images), then takes a few training steps of LeNet and sees the loss fall.
#include <cstdio>

#include "base/rng.hpp"
#include "graph/parameters.hpp"
#include "graph/zoo.hpp"
#include "run/solo_worker.hpp"
#include "strategy/strategy.hpp"

int main() {
  using namespace plait;
  const auto count =
      static_cast<long long>(graph::parameter_count(graph::make_model("vgg16", {3, 32, 32}, 10)));
  std::printf("vgg16: %lld parameters\n", count);

  constexpr int batch_size = 8;
  const plan::Network network = plan::make_network(graph::make_model("lenet", {1, 28, 28}, 10));
  const plan::Machine machine;
  run::SoloWorker worker(
      strategy::make_plan("serial", {.network = network, .machine = machine, .batch = batch_size}),
      {.optimizer = {.kind = "sgd", .momentum = 0.9}});
  data::Batch batch{.images = tensor::Tensor(tensor::Shape{batch_size, 1, 28, 28}),
                    .targets = tensor::Tensor(tensor::Shape{batch_size, 1})};
  Rng rng(1, Purpose::test);
  for (float& x : batch.images.floats()) x = rng.normal();
  for (int i = 0; i < batch_size; ++i) batch.targets.floats()[i] = static_cast<float>(i);

  double first = 0;
  double last = 0;
  for (int i = 1; i <= 5; ++i) {
    last = worker.step(batch, 0.01).sum / batch_size;
    if (i == 1) first = last;
  }
  std::printf("lenet: loss %.4f, after four updates %.4f\n", first, last);
  return count == 14'728'266 && last < first ? 0 : 1;
}
