# LibTorch and oneDNN are installed along, in a folder of the form that QUENCH_TORCH has, so that nothing installed looks
# outside of the prefix. Without that the installed files look for them where they were when quench was built.
set(install_torch_default ON)
if(QUENCH_WITH_CUDA)
  set(install_torch_default OFF)  # gigabytes, and libraries of CUDA that are loaded by name when they are first needed
endif()
option(QUENCH_INSTALL_TORCH "install LibTorch and oneDNN along" ${install_torch_default})
if(QUENCH_WITH_CUDA AND QUENCH_INSTALL_TORCH)
  message(FATAL_ERROR "a LibTorch with CUDA is not installed along: leave QUENCH_INSTALL_TORCH off")
endif()

set(onednn_dir "")
if(QUENCH_ONEDNN_TARGET)
  set(onednn_dir ${QUENCH_ONEDNN}/lib)
endif()
if(NOT QUENCH_INSTALL_TORCH)
  set(installed_torch ${QUENCH_TORCH})
  set(library_rpath ${QUENCH_TORCH}/lib ${onednn_dir})
  set(program_rpath ${library_rpath})
  message(STATUS "QUENCH_INSTALL_TORCH is OFF: what is installed will look for LibTorch in ${QUENCH_TORCH}")
else()
  set(installed_torch ${CMAKE_INSTALL_LIBDIR}/quench/torch)
  set(library_rpath "$ORIGIN/quench/torch/lib")
  set(program_rpath "$ORIGIN/../${installed_torch}/lib")
endif()
set_target_properties(quench PROPERTIES INSTALL_RPATH "$ORIGIN;${library_rpath}")
set_target_properties(quench_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${program_rpath}")
if(NOT QUENCH_INSTALL_TORCH)
  return()
endif()

install(DIRECTORY ${QUENCH_TORCH}/include DESTINATION ${installed_torch})
if(onednn_dir)
  install(PROGRAMS ${onednn_dir}/libdnnl.so.3 DESTINATION ${installed_torch}/lib)
endif()
install(DIRECTORY ${QUENCH_TORCH}/../licenses DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)  # of tools/get-libtorch
# What LibTorch itself needs of the packages around it (of NVIDIA's wheels, even without a GPU), not of the system.
cmake_path(GET QUENCH_TORCH PARENT_PATH torch_packages)
string(REGEX REPLACE "([][+.*?()^$|])" "\\\\\\1" torch_packages "${torch_packages}")
install(CODE "
  set(torch \"${QUENCH_TORCH}/lib\")
  file(GET_RUNTIME_DEPENDENCIES LIBRARIES \${torch}/libtorch_cpu.so RESOLVED_DEPENDENCIES_VAR needed
    UNRESOLVED_DEPENDENCIES_VAR missing)
  list(FILTER needed INCLUDE REGEX [==[^${torch_packages}/]==])
  file(INSTALL \${torch}/libtorch_cpu.so \${needed} TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN
    DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${installed_torch}/lib\")")
