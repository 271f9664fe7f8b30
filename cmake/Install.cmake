# `cmake --install`: program, library, headers, a package for find_package(quench), what `quench verify` runs, manual page
# and completions. The installed tree may be moved, and needs neither the sources nor the build tree.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quench)
set(data_dir ${CMAKE_INSTALL_DATADIR}/quench)
include(InstallLibTorch)

install(TARGETS quench EXPORT quench-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS quench_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/quench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT quench-targets NAMESPACE quench:: DESTINATION ${package_dir})
# The user's build makes the imported target of LibTorch again.
install(FILES cmake/LibTorch.cmake cmake/QuenchPlugin.cmake cmake/plugin_tag.cpp DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/quench-config.cmake.in ${CMAKE_BINARY_DIR}/quench-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS installed_torch NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/quench-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/quench-config.cmake ${CMAKE_BINARY_DIR}/quench-config-version.cmake
  DESTINATION ${package_dir})

# The scripts of runtimes, and the one that sets up their environment: laid out as in tools/, where the library and the
# scripts look for each other. `quench-runtimes` is the latter's name on the PATH.
install(DIRECTORY tools/runners DESTINATION ${data_dir} FILES_MATCHING PATTERN "*.py" PATTERN "*.mjs")
install(PROGRAMS tools/test-venv DESTINATION ${data_dir})
file(RELATIVE_PATH setup_script /${CMAKE_INSTALL_BINDIR} /${data_dir}/test-venv)
install(CODE "file(CREATE_LINK ${setup_script} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/quench-runtimes\" SYMBOLIC)")

# The program itself writes its manual page and its completions.
function(install_what_program_says file folder)
  install(CODE "
    execute_process(COMMAND \"$<TARGET_FILE:quench_cli>\" ${ARGN} OUTPUT_FILE \"${CMAKE_BINARY_DIR}/installed/${file}\"
      COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${CMAKE_BINARY_DIR}/installed/${file} DESTINATION ${folder})
endfunction()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/installed)
install_what_program_says(quench.1 ${CMAKE_INSTALL_MANDIR}/man1 help --man)
install_what_program_says(quench ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
install_what_program_says(_quench ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
