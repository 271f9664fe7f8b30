# quench_python: quench._C, the bindings of the Python package. tools/build-wheel packs it with the library and the program.
find_package(Python3 COMPONENTS Interpreter Development.Module)
option(QUENCH_PYTHON_PACKAGE "build the Python package's bindings" ${Python3_Development.Module_FOUND})
if(NOT QUENCH_PYTHON_PACKAGE)
  return()
endif()

# torch's own Python library is in the torch package that is imported first, not in LibTorch's folder: only its name is
# linked to.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/torch_python.c
  CONTENT "/* stands for torch's library of this name when linking */\n")
add_library(quench_torch_python_name SHARED ${CMAKE_BINARY_DIR}/torch_python.c)
set_target_properties(quench_torch_python_name PROPERTIES OUTPUT_NAME torch_python
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/torch_python)

file(GLOB binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cpp)
Python3_add_library(quench_python MODULE WITH_SOABI ${binding_sources})
set_target_properties(quench_python PROPERTIES OUTPUT_NAME _C LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python)
target_include_directories(quench_python PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(quench_python PRIVATE quench quench_options nlohmann_json::nlohmann_json
  -Wl,--no-as-needed quench_torch_python_name)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(quench_python PRIVATE -Wno-attributes)  # pybind11's types are hidden, and ours hold them
endif()
quench_unity(quench_python)
if(QUENCH_PCH)
  target_precompile_headers(quench_python PRIVATE <ATen/ATen.h> <torch/csrc/utils/pybind.h>)
endif()
