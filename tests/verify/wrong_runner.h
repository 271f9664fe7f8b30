// ONNX Runtime, and then something wrong.
#pragma once

#include <fstream>

#include "verify/deployed_demo.h"

namespace quench {

// A runner that runs ONNX Runtime and then `change`, lines of Python on `arrays`, a dict of what it gave.
inline std::string wrong_runner(const std::string& script, const std::string& python, const std::string& change) {
  std::ofstream(script) << "import subprocess, sys, numpy\n"
                           "subprocess.run([sys.executable, '"
                        << demo_file("../../tools/runners/onnxruntime.py")
                        << "', *sys.argv[1:]], check=True)\n"
                           "arrays = dict(numpy.load(sys.argv[3]))\n"
                        << change << "\nnumpy.savez(sys.argv[3], **arrays)\n";
  return python + " " + script;
}

// The names of the criteria that were not passed.
inline std::vector<std::string> failed(const VerifyResult& result) {
  std::vector<std::string> names;
  for (const Criterion& criterion : result.criteria)
    if (!criterion.passed) names.push_back(criterion.name);
  return names;
}

}  // namespace quench
