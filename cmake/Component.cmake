# quench_component(NAME [ATEN] [PCH headers...] [DEPENDS components...] [LINK targets...]): all .cpp of src/NAME and its
# subfolders. ATEN: its files use LibTorch's tensors. PCH: slow headers that most of them include beyond ATen/ATen.h.
# OBJECT libraries keep the self-registering files, which a static archive would drop.
function(quench_component name)
  cmake_parse_arguments(ARG "ATEN" "" "PCH;DEPENDS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(quench_${name} OBJECT ${sources})
  target_include_directories(quench_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(quench_${name} PUBLIC quench_options ${ARG_LINK})
  foreach(dependency ${ARG_DEPENDS})
    target_link_libraries(quench_${name} PUBLIC quench_${dependency})
  endforeach()
  if(ARG_ATEN)
    target_link_libraries(quench_${name} PUBLIC quench_torch)
    if(QUENCH_PCH AND ARG_PCH)
      target_precompile_headers(quench_${name} PRIVATE <ATen/ATen.h> ${ARG_PCH})
    elseif(QUENCH_PCH)
      target_precompile_headers(quench_${name} REUSE_FROM quench_aten_pch)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY QUENCH_COMPONENTS ${name})
endfunction()

# quench_component_test(NAME): all *_test.cpp of tests/NAME as one program (loading LibTorch costs each
# test process half a second, so there is one per component).
function(quench_component_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_test ${sources})
  quench_unity(${name}_test)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name}_test PRIVATE quench quench_test_support)
  # Executables would get -fPIE, and the precompiled header made with -fPIC be refused.
  set_target_properties(${name}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name}_test PRIVATE -fPIC)
  if(QUENCH_PCH)
    target_precompile_headers(${name}_test REUSE_FROM quench_test_pch)
  endif()
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 ENVIRONMENT
    "QUENCH_TEST_DATA=${PROJECT_SOURCE_DIR}/tests/data;QUENCH_PROGRAM=$<TARGET_FILE:quench_cli>;OMP_WAIT_POLICY=passive")
endfunction()
