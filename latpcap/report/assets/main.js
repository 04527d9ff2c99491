/** The page, part by part. */

import { followAddress } from "./address.js";
import { showBudget } from "./budget.js";
import { showCurve } from "./curve.js";
import { offerCopies } from "./copying.js";
import { data } from "./dom.js";
import { showCharts } from "./drawn.js";
import { followFindings } from "./findings.js";
import { showFixes } from "./fixes.js";
import { followPrinting } from "./printing.js";
import { followStatements } from "./statements.js";
import { showTables } from "./table.js";
import { showTheme } from "./theme.js";
import { showTimeline } from "./timeline.js";
import { showWhatIf } from "./what_if.js";

showTheme();
if (data.jobs.length > 0) { // the RTT of the capture is known: the job was replayed
  showFixes();
  showWhatIf();
  showCurve();
  showBudget();
  followFindings();
  followStatements();
  followAddress();
}
showTimeline();
showCharts();
showTables();
offerCopies();
followPrinting();
