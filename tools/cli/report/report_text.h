#ifndef SLUICE_TOOLS_CLI_REPORT_REPORT_TEXT_H_
#define SLUICE_TOOLS_CLI_REPORT_REPORT_TEXT_H_

#include <string>

#include "tools/cli/console/console.h"
#include "tools/cli/report/model_report.h"

namespace sluice {

struct ReportTextOptions {
  int scope_depth = 2;  // Levels of name scopes.
  int max_rows = 20;    // Of each list; what is left out is counted.
  int max_line = 160;   // Characters: long names and types are cut in the middle.
};

// The report for people: sections with aligned columns, empty ones left out.
std::string RenderReportText(const ModelReport& report, const ReportTextOptions& options, const Paint& paint);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_REPORT_TEXT_H_
