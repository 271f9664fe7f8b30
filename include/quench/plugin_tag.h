// The tag of a plug-in: what it was built with. quench_add_plugin() adds it; with another build system QUENCH_PLUGIN()
// goes into one source file, compiled with -DQUENCH_VERSION="x.y.z".
#pragma once

#include <torch/version.h>

#include <cstddef>  // any header of the C++ library says which one it is

#ifndef QUENCH_VERSION
#error "QUENCH_VERSION is not defined: link the target quench::quench, or pass -DQUENCH_VERSION=\"x.y.z\""
#endif

// The section of the ELF file that holds the tag.
#define QUENCH_PLUGIN_SECTION ".quench_plugin"

#define QUENCH_TEXT_INNER(value) #value
#define QUENCH_TEXT(value) QUENCH_TEXT_INNER(value)
#if defined(_LIBCPP_ABI_VERSION)
#define QUENCH_CXX_LIBRARY "libc++ ABI " QUENCH_TEXT(_LIBCPP_ABI_VERSION)
#elif defined(_GLIBCXX_DEBUG)
#define QUENCH_CXX_LIBRARY "libstdc++ CXX11_ABI=" QUENCH_TEXT(_GLIBCXX_USE_CXX11_ABI) " DEBUG"
#else
#define QUENCH_CXX_LIBRARY "libstdc++ CXX11_ABI=" QUENCH_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif

// One fact a line. Facts are compared as texts.
#define QUENCH_PLUGIN_TAG    \
  "quench: " QUENCH_VERSION  \
  "\n"                       \
  "LibTorch: " TORCH_VERSION \
  "\n"                       \
  "C++ library: " QUENCH_CXX_LIBRARY "\n"

#define QUENCH_PLUGIN()                                                             \
  extern "C" __attribute__((visibility("default"))) const char quench_plugin_tag[]; \
  __attribute__((used, section(QUENCH_PLUGIN_SECTION))) const char quench_plugin_tag[] = QUENCH_PLUGIN_TAG;
