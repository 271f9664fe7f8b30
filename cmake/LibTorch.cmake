# Makes the imported target `quench_torch` from a LibTorch folder (the one of the `torch` wheel, or any
# other from 2.11 on). The packaged TorchConfig.cmake refuses a CUDA build of LibTorch on a machine
# without CUDA, so the target is made here. QUENCH_TORCH names the folder.
set(QUENCH_TORCH "" CACHE PATH "LibTorch folder, with include/ and lib/ in it")
if(NOT QUENCH_TORCH)
  set(QUENCH_TORCH "${CMAKE_CURRENT_LIST_DIR}/../.deps/torch")
endif()
get_filename_component(QUENCH_TORCH "${QUENCH_TORCH}" ABSOLUTE)
if(NOT EXISTS "${QUENCH_TORCH}/include/ATen/ATen.h")
  message(FATAL_ERROR "no LibTorch in '${QUENCH_TORCH}': run tools/get-libtorch, or pass "
                      "-DQUENCH_TORCH=DIR with a LibTorch from 2.11 on")
endif()

add_library(quench_torch INTERFACE IMPORTED GLOBAL)
# SYSTEM, so that warnings inside LibTorch's headers stay its own.
target_include_directories(quench_torch SYSTEM INTERFACE
  "${QUENCH_TORCH}/include" "${QUENCH_TORCH}/include/torch/csrc/api/include")
target_link_libraries(quench_torch INTERFACE
  "${QUENCH_TORCH}/lib/libtorch_cpu.so" "${QUENCH_TORCH}/lib/libc10.so")
target_compile_features(quench_torch INTERFACE cxx_std_20)

# A CUDA build of LibTorch registers its kernels from libtorch_cuda.so, which nothing refers to by
# symbol: it must be kept by hand. Only linked if the CUDA toolkit is present.
set(QUENCH_CUDA "AUTO" CACHE STRING "AUTO, ON or OFF: link LibTorch's CUDA libraries")
find_package(CUDAToolkit QUIET)
if(QUENCH_CUDA STREQUAL "ON" OR
   (QUENCH_CUDA STREQUAL "AUTO" AND CUDAToolkit_FOUND AND EXISTS "${QUENCH_TORCH}/lib/libtorch_cuda.so"))
  set(QUENCH_WITH_CUDA TRUE)
  target_link_libraries(quench_torch INTERFACE
    -Wl,--no-as-needed "${QUENCH_TORCH}/lib/libtorch_cuda.so" "${QUENCH_TORCH}/lib/libc10_cuda.so" -Wl,--as-needed)
  target_include_directories(quench_torch SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(quench_torch INTERFACE QUENCH_WITH_CUDA)
  # NCCL's header, beside LibTorch where both are Python packages; its functions are in libtorch_cuda.so.
  find_path(QUENCH_NCCL_INCLUDE nccl.h HINTS "${QUENCH_TORCH}/../nvidia/nccl/include" ${CUDAToolkit_INCLUDE_DIRS})
  if(QUENCH_NCCL_INCLUDE)
    target_include_directories(quench_torch SYSTEM INTERFACE ${QUENCH_NCCL_INCLUDE})
  endif()
else()
  set(QUENCH_WITH_CUDA FALSE)
endif()
