# src/engine/simd/*_avx512.cpp: loops on bytes for processors with AVX-512 VNNI; the engine asks before it calls them.
set(engine_loops ${PROJECT_SOURCE_DIR}/src/engine/simd/byte_loops_avx512.cpp)
set_source_files_properties(${engine_loops} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
  "-O3;-fno-math-errno;-fno-trapping-math;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mfma")
target_compile_options(quench_engine PRIVATE -ffp-contract=off)
