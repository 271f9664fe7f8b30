# cmake -DHEADER=FILE -P QuietHeader.cmake: the generated header and protobuf's own do not use all their parameters.
file(READ ${HEADER} text)
file(WRITE ${HEADER} "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n${text}#pragma GCC diagnostic pop\n")
