# The compiler may not fuse multiply-adds: the loops give the same bits on every machine.
target_compile_options(quench_quant PRIVATE -ffp-contract=off)
target_compile_options(quench_kernels PRIVATE -ffp-contract=off)

# The threads are LibTorch's: those of the libgomp that it loads (kernels/parallel.cpp).
find_library(QUENCH_GOMP NAMES libgomp.so.1 HINTS ${QUENCH_TORCH}/lib REQUIRED)
target_link_libraries(quench_kernels PUBLIC ${QUENCH_GOMP})
if(QUENCH_FUZZ)
  target_compile_definitions(quench_kernels PRIVATE QUENCH_ONE_THREAD)  # findings can be reproduced
endif()

# src/kernels/simd/isa_*.cpp: the same loops for each instruction set. They see no LibTorch header (see kernels/simd/simd.h),
# and are optimized in every kind of build: without it they would not be vectorised at all.
set(isa_flags -O3 -fno-math-errno -fno-trapping-math)
set(isa_flags_base "")
set(isa_flags_avx2 -mavx2)
set(isa_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
foreach(isa base avx2 avx512)
  set(source ${PROJECT_SOURCE_DIR}/src/kernels/simd/isa_${isa}.cpp)
  set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "${isa_flags};${isa_flags_${isa}}")
  if(NOT isa STREQUAL "base" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endforeach()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_definitions(quench_kernels PRIVATE QUENCH_X86_SIMD)
endif()
