# `cmake --install`: the library, the program, the headers and a package for find_package(quench).
include(CMakePackageConfigHelpers)
