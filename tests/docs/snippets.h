// C++ blocks of the pages as functions that can be called by name (snippets.py writes them).
#pragma once

#include <ATen/ATen.h>

#include <iostream>
#include <stdexcept>
#include <string>

#include "quench/calibrate.h"
#include "quench/config.h"
#include "quench/convert.h"
#include "quench/data.h"
#include "quench/deploy.h"
#include "quench/distributed.h"
#include "quench/evaluate.h"
#include "quench/executor.h"
#include "quench/html_report.h"
#include "quench/import.h"
#include "quench/load_quantized.h"
#include "quench/observer.h"
#include "quench/open_model.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "quench/profile.h"
#include "quench/ptq.h"
#include "quench/quantize.h"
#include "quench/state_dict.h"
#include "quench/train.h"
#include "quench/verify.h"
#include "quench/zoo.h"

// A page shows what it is about: results that nothing uses, structs with a field or two.
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

int add_snippet(const char* where, void (*run)());

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("does not hold: " + what);
}
