// Threads that wait at a barrier spin for milliseconds before libgomp lets them sleep: on a busy machine, where a
// partner may have lost its processor, most of the time goes into such spinning (docs/results.md). Without any spinning
// a network on one image takes twice as long and more, since its layers are shorter than a sleep. So threads spin for
// some 50 microseconds. libgomp reads how long from the environment when it is loaded, before main. So the program
// restarts itself once with the variable set, before any library of its own has been initialised, unless the user has
// set one.
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace {

constexpr char kShortSpin[] = "GOMP_SPINCOUNT=1000";

bool is_set(char** environment, std::string_view name) {
  for (; *environment != nullptr; ++environment)
    if (std::strncmp(*environment, name.data(), name.size()) == 0 && (*environment)[name.size()] == '=') return true;
  return false;
}

void yield_at_barriers(int, char** arguments, char** environment) {
  if (is_set(environment, "GOMP_SPINCOUNT") || is_set(environment, "OMP_WAIT_POLICY")) return;
  std::vector<char*> with;
  for (char** one = environment; *one != nullptr; ++one) with.push_back(*one);
  with.push_back(const_cast<char*>(kShortSpin));
  with.push_back(nullptr);
  ::execve("/proc/self/exe", arguments, with.data());
  // Without /proc the program goes on as it is: slower on a busy machine, but correct.
}

}  // namespace

__attribute__((section(".preinit_array"), used)) void (*const quench_yield_at_barriers)(int, char**,
                                                                                        char**) = yield_at_barriers;
