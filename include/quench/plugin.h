// Plug-ins: shared libraries that register what they add (an observer, a platform, an exporter ...) as a file of quench
// does. `--plugin FILE.so` of every command, `plugins:` of a config and load_plugin() load them.
//
// A plug-in carries a tag (quench/plugin_tag.h) that says what it was built with. It is read from the file, before any
// of its code runs: one that was built for another quench, LibTorch or C++ library is refused, not run.
//
// quench_add_plugin() of the installed CMake package adds the tag, and puts this header in front of every source file:
// in it registrations wait until the library is loaded, so that a name that is taken is an error, not an abort.
#pragma once

#include <string>
#include <vector>

#include "quench/registry.h"

namespace quench {

// Registers what the plug-in adds, all of it or, with an error, nothing. Throws if the file is missing, is no plug-in,
// does not fit this quench, cannot be linked, or takes a name that exists. A file that is loaded already is left alone.
// Plug-ins stay until the process ends. Not while other threads look names up.
void load_plugin(const std::string& path);

// The files, in order of loading.
const std::vector<std::string>& loaded_plugins();

// The name of the file ("chip.so") of the loaded plug-in in whose memory the address lies; "" if it is in none. The
// `file` of a registry's entry is such an address.
std::string plugin_of(const void* address);

// One thing that a plug-in registers. Called twice: to check that the name is free, then to register it.
using PluginItem = void (*)(bool only_check);
// Keeps it for load_plugin(); runs it at once where the file is linked into a program.
bool register_when_loaded(PluginItem item);
// While a plug-in is checked: throws if it has claimed the same name already.
void claim_name(const char* kind, const std::string& name);
[[noreturn]] void fail_name_taken(const char* kind, const std::string& name, const char* file);

template <typename Item>
void check_name_free(const std::string& name) {
  const auto& entries = Registry<Item>::instance().entries();
  if (const auto at = entries.find(name); at != entries.end()) fail_name_taken(Item::kKind, name, at->second.file);
}

}  // namespace quench

// As that of quench/registry.h, which registers from a static initializer: no error could leave it.
#undef QUENCH_REGISTER_ITEM
#define QUENCH_REGISTER_ITEM(Item, name, summary, ...)                                       \
  [[maybe_unused]] static const bool QUENCH_CONCAT(quench_registered_, __COUNTER__) =        \
      ::quench::register_when_loaded([](bool only_check) {                                   \
        ::quench::check_name_free<Item>(name);                                               \
        if (only_check) return ::quench::claim_name(Item::kKind, name);                      \
        ::quench::Registry<Item>::instance().add(name, Item __VA_ARGS__, summary, __FILE__); \
      });
