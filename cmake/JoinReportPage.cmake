# cmake -DHTML=... -DSTYLE=... -DSCRIPTS=a;b -DOUTPUT=... -P JoinReportPage.cmake: style and scripts into the page, and the
# page into a C++ file.
file(READ ${HTML} page)
file(READ ${STYLE} style)
set(script "")
foreach(file ${SCRIPTS})
  file(READ ${file} text)
  string(APPEND script "${text}")
endforeach()
string(REPLACE "{{style}}" "${style}" page "${page}")
string(REPLACE "{{script}}" "${script}" page "${page}")
file(WRITE ${OUTPUT} "#include \"report/html/page.h\"\n\nnamespace quench {\n\nconst char* const kReportPage = R\"quench_page(${page})quench_page\";\n\n}  // namespace quench\n")
