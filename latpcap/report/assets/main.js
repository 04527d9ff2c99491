/** The page, part by part. */

import { followAddress } from "./address.js";
import { showBudget } from "./budget.js";
import { showCurve } from "./curve.js";
import { showFindings } from "./findings.js";
import { showFixes } from "./fixes.js";
import { showHistograms } from "./histograms.js";
import { showMinutes } from "./minutes.js";
import { followPrinting } from "./printing.js";
import { showSections } from "./sections.js";
import { follow } from "./state.js";
import { liveStatements } from "./statements.js";
import { showTheme } from "./theme.js";
import { showTimeline } from "./timeline.js";
import { showWhatIf } from "./what_if.js";

showTheme();
showFixes();
showWhatIf();
showCurve();
showBudget();
showFindings();
showTimeline();
showMinutes();
showHistograms();
showSections({ statements: { table: liveStatements, follow } });
followPrinting();
followAddress();
