#ifndef SLUICE_TOOLS_CLI_REPORT_REPORT_JSON_H_
#define SLUICE_TOOLS_CLI_REPORT_REPORT_JSON_H_

#include <string>

#include "tools/cli/report/model_report.h"

namespace sluice {

// The report as one JSON document, two blanks of indent, ending in a newline. Fields are named as in ModelReport; lists
// are whole. Shapes are arrays with null for unknown sizes, or null for an unknown rank. Bytes that are not UTF-8
// become U+FFFD.
std::string RenderReportJson(const ModelReport& report);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_REPORT_JSON_H_
