# Headers by the names of Gloo's own for c10d's to include: LibTorch's wheel leaves Gloo's out. One that has them is
# taken as it is.
if(EXISTS "${QUENCH_TORCH}/include/gloo/context.h")
  return()
endif()
foreach(header algorithm common/error context rendezvous/store transport/device)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gloo_names/gloo/${header}.h
    CONTENT "#include \"distributed/gloo_names.h\"\n")
endforeach()
target_include_directories(quench_distributed SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/gloo_names)
