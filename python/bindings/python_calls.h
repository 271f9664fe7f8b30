// Long work without the GIL, and the Python functions that it calls on the way.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "bindings.h"
#include "quench/error.h"

namespace quench::python {

class PythonCalls {
 public:
  // With the GIL. What Python raises, Ctrl-C included, is kept; the work ends with an Error.
  template <typename Call>
  auto call(Call&& call) {
    const py::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return call();
    } catch (py::error_already_set&) {
      raised_ = std::current_exception();
    }
    fail("a Python function raised an exception");
  }

  // Without the GIL. An exception of Python comes out as it was raised.
  template <typename Work>
  auto run(Work&& work) {
    try {
      const py::gil_scoped_release released;
      return work();
    } catch (...) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

  // progress(what, done, total) for the library; None gives one that only looks for Ctrl-C.
  std::function<void(const std::string&, std::int64_t, std::int64_t)> progress(const py::object& function) {
    return [this, &function](const std::string& what, std::int64_t done, std::int64_t total) {
      call([&] {
        if (!function.is_none()) function(what, done, total);
      });
    };
  }

 private:
  std::exception_ptr raised_;
};

}  // namespace quench::python
