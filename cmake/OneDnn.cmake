# Makes the imported target `quench_onednn` from a oneDNN folder (include/ and lib/libdnnl.so.3): the engine's kernels.
# QUENCH_ONEDNN names the folder; OFF builds without it, and the engine then runs what the executor runs.
set(QUENCH_ONEDNN "" CACHE STRING "oneDNN folder with include/ and lib/ in it (3.2, built for GNU OpenMP), or OFF")
if(QUENCH_ONEDNN STREQUAL "")
  set(QUENCH_ONEDNN "${PROJECT_SOURCE_DIR}/.deps/onednn")
endif()
if(NOT QUENCH_ONEDNN)
  set(QUENCH_ONEDNN_TARGET "")
elseif(NOT EXISTS "${QUENCH_ONEDNN}/lib/libdnnl.so.3")
  message(FATAL_ERROR "no oneDNN in '${QUENCH_ONEDNN}': run tools/get-libtorch, pass -DQUENCH_ONEDNN=DIR, or "
                      "-DQUENCH_ONEDNN=OFF for a build without the fast engine")
else()
  get_filename_component(QUENCH_ONEDNN "${QUENCH_ONEDNN}" ABSOLUTE)
  set(QUENCH_ONEDNN_TARGET quench_onednn)
  add_library(quench_onednn INTERFACE IMPORTED GLOBAL)
  target_include_directories(quench_onednn SYSTEM INTERFACE "${QUENCH_ONEDNN}/include")
  target_link_libraries(quench_onednn INTERFACE "${QUENCH_ONEDNN}/lib/libdnnl.so.3")
endif()
