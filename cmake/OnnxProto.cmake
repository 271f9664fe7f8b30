# Compiles the `onnx` package's onnx.proto with its proto package renamed to quench_onnx, so that our
# message types can never clash with the copy of ONNX inside LibTorch.
set(QUENCH_ONNX_PROTO "${CMAKE_CURRENT_LIST_DIR}/../.deps/onnx/onnx.proto" CACHE FILEPATH "onnx.proto of the onnx package")
if(NOT EXISTS "${QUENCH_ONNX_PROTO}")
  message(FATAL_ERROR "no '${QUENCH_ONNX_PROTO}': run tools/get-libtorch, or pass -DQUENCH_ONNX_PROTO=FILE")
endif()
set(proto_dir ${CMAKE_BINARY_DIR}/onnx_proto)
file(MAKE_DIRECTORY ${proto_dir})
file(READ "${QUENCH_ONNX_PROTO}" onnx_proto)
string(REGEX REPLACE "\npackage onnx;" "\npackage quench_onnx;" onnx_proto "${onnx_proto}")
file(CONFIGURE OUTPUT ${proto_dir}/quench_onnx.proto CONTENT "${onnx_proto}" @ONLY)
# Some LibTorch packages carry older protobuf headers in their include folder: the system's, linked here,
# are found first because -I comes before -isystem.
file(CREATE_LINK "${Protobuf_INCLUDE_DIRS}/google" ${proto_dir}/google SYMBOLIC)
add_custom_command(
  OUTPUT ${proto_dir}/quench_onnx.pb.cc ${proto_dir}/quench_onnx.pb.h
  COMMAND protobuf::protoc --proto_path=${proto_dir} --cpp_out=${proto_dir} ${proto_dir}/quench_onnx.proto
  COMMAND ${CMAKE_COMMAND} -DHEADER=${proto_dir}/quench_onnx.pb.h -P ${CMAKE_CURRENT_LIST_DIR}/QuietHeader.cmake
  DEPENDS ${proto_dir}/quench_onnx.proto)
add_library(quench_onnx_proto OBJECT ${proto_dir}/quench_onnx.pb.cc)
target_include_directories(quench_onnx_proto PUBLIC ${proto_dir})
target_link_libraries(quench_onnx_proto PUBLIC protobuf::libprotobuf)
set_property(GLOBAL APPEND PROPERTY QUENCH_COMPONENTS onnx_proto)
