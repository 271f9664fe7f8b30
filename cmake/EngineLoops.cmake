# Of src/engine either all files but one (with oneDNN), or that one alone.
set(engine_stub ${PROJECT_SOURCE_DIR}/src/engine/without_onednn.cpp)
get_target_property(engine_sources quench_engine SOURCES)
foreach(source ${engine_sources})
  if((QUENCH_ONEDNN_TARGET AND source STREQUAL engine_stub) OR
     (NOT QUENCH_ONEDNN_TARGET AND NOT source STREQUAL engine_stub))
    set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endforeach()

# Loops on bytes for processors with AVX-512 VNNI; the engine asks before it calls them.
file(GLOB engine_loops CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/engine/simd/*_avx512.cpp)
set_source_files_properties(${engine_loops} PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
  "-O3;-fno-math-errno;-fno-trapping-math;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mfma")
# Conversions and products are those of the plain definition, without fused multiply-adds.
target_compile_options(quench_engine PRIVATE -ffp-contract=off)
