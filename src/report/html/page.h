// The page of the HTML report, with "{{data}}" where the data goes. cmake/ReportPage.cmake makes it of the files
// beside.
#pragma once

namespace quench {

extern const char* const kReportPage;

}  // namespace quench
