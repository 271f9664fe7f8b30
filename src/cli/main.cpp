#include <cstdio>
#include "quench/op.h"
int main() {
  for (const auto& name : quench::OpRegistry::instance().names()) std::puts(name.c_str());
}
