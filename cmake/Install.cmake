# `cmake --install`: the library, the program, the headers and a package for find_package(quench).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quench)

# LibTorch and oneDNN stay where they are; the installed files find them, and each other when the prefix is moved.
set(onednn_path "")
if(QUENCH_ONEDNN_TARGET)
  set(onednn_path ";${QUENCH_ONEDNN}/lib")
endif()
set_target_properties(quench PROPERTIES INSTALL_RPATH "$ORIGIN;${QUENCH_TORCH}/lib${onednn_path}")
set_target_properties(quench_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${QUENCH_TORCH}/lib${onednn_path}")

install(TARGETS quench EXPORT quench-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS quench_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/quench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY tools/runners DESTINATION ${CMAKE_INSTALL_DATADIR}/quench FILES_MATCHING PATTERN "*.py" PATTERN "*.mjs")
install(EXPORT quench-targets NAMESPACE quench:: DESTINATION ${package_dir})
# The user's build recreates the imported target of LibTorch, from its own QUENCH_TORCH if given.
install(FILES cmake/LibTorch.cmake cmake/QuenchPlugin.cmake cmake/plugin_tag.cpp DESTINATION ${package_dir})

configure_package_config_file(cmake/quench-config.cmake.in ${CMAKE_BINARY_DIR}/quench-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/quench-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/quench-config.cmake ${CMAKE_BINARY_DIR}/quench-config-version.cmake
  DESTINATION ${package_dir})
