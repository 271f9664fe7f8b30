# quench_add_plugin(NAME files...): NAME.so, which `quench --plugin NAME.so` and quench::load_plugin() take. The files
# register what they add exactly as files of quench do (docs/adding.md).
set(QUENCH_PLUGIN_TAG_SOURCE ${CMAKE_CURRENT_LIST_DIR}/plugin_tag.cpp)
function(quench_add_plugin name)
  add_library(${name} MODULE ${ARGN} ${QUENCH_PLUGIN_TAG_SOURCE})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so")
  target_link_libraries(${name} PRIVATE quench::quench)
  # Registrations wait until the library is loaded.
  target_compile_options(${name} PRIVATE "SHELL:-include quench/plugin.h")
endfunction()
