# QUENCH_UNITY: a few source files are compiled at a time, which takes a build from nothing half of the time.
# tools/unity-batches says which ones; it is asked again when a file has changed, since names that are local to files must
# not meet.
option(QUENCH_UNITY "compile a few files at a time" ON)
set(QUENCH_UNITY_SIZE 5)
find_program(QUENCH_PYTHON python3)
if(QUENCH_UNITY AND NOT QUENCH_PYTHON)
  message(STATUS "there is no python3 to say which files may be compiled together: each is compiled by itself")
  set(QUENCH_UNITY OFF)
endif()

if(QUENCH_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # To GCC a file that another one includes is a header, where types without a name would be a mistake.
  target_compile_options(quench_options INTERFACE -Wno-subobject-linkage)
endif()

# quench_unity(TARGET): for the files that the target has by now, but for those with flags of their own.
function(quench_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${QUENCH_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(left_out ${source} HEADER_FILE_ONLY)
    if(source MATCHES "\\.cpp$" AND NOT options AND NOT left_out)
      set_property(GLOBAL APPEND PROPERTY QUENCH_UNITY_SOURCES ${source})
    endif()
  endforeach()
endfunction()

# After all targets.
function(quench_unity_batches)
  if(NOT QUENCH_UNITY)
    return()
  endif()
  get_property(sources GLOBAL PROPERTY QUENCH_UNITY_SOURCES)
  set(tool ${PROJECT_SOURCE_DIR}/tools/unity-batches)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${tool})
  string(REPLACE ";" "\n" lines "${sources}")
  file(WRITE ${CMAKE_BINARY_DIR}/unity_sources.txt "${lines}\n")
  execute_process(COMMAND ${QUENCH_PYTHON} ${tool} ${QUENCH_UNITY_SIZE} INPUT_FILE ${CMAKE_BINARY_DIR}/unity_sources.txt
    OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" batches "${batches}")
  foreach(line ${batches})
    string(REPLACE " " ";" pair ${line})
    list(GET pair 0 batch)
    list(GET pair 1 source)
    set(directory ${PROJECT_SOURCE_DIR})
    if(source MATCHES "^${PROJECT_SOURCE_DIR}/tests/")
      set(directory ${PROJECT_SOURCE_DIR}/tests)
    endif()
    set_source_files_properties(${source} DIRECTORY ${directory} PROPERTIES UNITY_GROUP ${batch})
  endforeach()
endfunction()
