// Which plug-ins a model was made with, as its metadata says it, so that an error about a name that only a plug-in
// knows can name the file that is to be loaded.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "quench/error.h"

namespace quench {

using Metadata = std::map<std::string, std::string>;

// Of a model that is written now: the loaded plug-ins, "chip.so (quench 1.2.3)" a line. Where none is loaded, what the
// metadata says stays.
void record_plugins(Metadata& metadata);
void forget_plugins(Metadata& metadata);  // a model that is shipped does not say how it was made

// Adds to an error about such a model which of its plug-ins are not loaded. Where none is recorded, a name that is
// unknown may still be a plug-in's.
void hint_at_plugins(Error& error, const Metadata& metadata);

// Runs `body`, which looks up names that the model's file holds; its errors get the hint.
template <typename Body>
auto hinting_at_plugins(const Metadata& metadata, Body&& body) -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    hint_at_plugins(error, metadata);
    throw;
  }
}

}  // namespace quench
