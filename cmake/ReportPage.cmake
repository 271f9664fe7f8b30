# The HTML report's page: src/report/html/ as one string of the library. Scripts are joined in this order.
set(page_dir ${PROJECT_SOURCE_DIR}/src/report/html)
set(page_parts dom charts table state accuracy advice summary_tables summary layers layout graph_view graph tensors curves provenance page)
list(TRANSFORM page_parts PREPEND ${page_dir}/ OUTPUT_VARIABLE page_scripts)
list(TRANSFORM page_scripts APPEND .js)
set(page_source ${CMAKE_BINARY_DIR}/report_page.cpp)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DHTML=${page_dir}/report.html -DSTYLE=${page_dir}/report.css "-DSCRIPTS=${page_scripts}"
    -DOUTPUT=${page_source} -P ${PROJECT_SOURCE_DIR}/cmake/JoinReportPage.cmake
  DEPENDS ${page_dir}/report.html ${page_dir}/report.css ${page_scripts} ${PROJECT_SOURCE_DIR}/cmake/JoinReportPage.cmake
  VERBATIM)
target_sources(quench_report PRIVATE ${page_source})
set_source_files_properties(${page_source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
