/** The page, part by part. */

import { showBudget } from "./budget.js";
import { showChattiness } from "./chattiness.js";
import { showConnections } from "./connections.js";
import { showCurve } from "./curve.js";
import { showErrors } from "./errors.js";
import { showFindings } from "./findings.js";
import { showFixes } from "./fixes.js";
import { showHealth } from "./health.js";
import { showHistograms } from "./histograms.js";
import { showMethod } from "./method.js";
import { showMinutes } from "./minutes.js";
import { followPrinting } from "./printing.js";
import { showStatements } from "./statements.js";
import { showTheme } from "./theme.js";
import { showTimeline } from "./timeline.js";
import { showWhatIf } from "./what_if.js";

showTheme();
showFixes();
showWhatIf();
showCurve();
showBudget();
showChattiness();
showErrors();
showFindings();
showStatements();
showTimeline();
showMinutes();
showHistograms();
showConnections();
showHealth();
showMethod();
followPrinting();
