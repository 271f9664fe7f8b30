// Makes a zoo model, traces it into a graph that shares its parameters, and runs both on the same images.
#include <ATen/ATen.h>
#include <quench/executor.h>
#include <quench/torch.h>
#include <quench/zoo_net.h>

#include <iostream>

int main() {
  auto net = quench::make_zoo_model("resnet20_cifar");
  net->eval();
  const quench::Graph graph = quench::from_module(*net, {at::rand({2, 3, 32, 32})});
  const at::Tensor images = at::rand({5, 3, 32, 32});
  const at::Tensor logits = quench::Executor(graph).run({images})[0].tensor();
  std::cout << "graph and module alike: " << at::allclose(logits, net->forward(images)) << "\n";
}
