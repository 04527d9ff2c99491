/** The page of two captures, part by part. */

import { showCurves } from "./both_curves.js";
import { showFigures } from "./both_figures.js";
import { showFindings } from "./both_findings.js";
import { showStatements } from "./both_statements.js";
import { data } from "./dom.js";
import { showGates } from "./gates.js";
import { followPrinting } from "./printing.js";
import { showSections } from "./sections.js";
import { showSignOff } from "./signoff.js";
import { showTheme } from "./theme.js";

showTheme();
showGates(data.gates);
showFigures();
showCurves();
showFindings();
showStatements();
showSignOff(data.sides.map(({ captures, sign_off: told }, at) => ({ title: ["Before", "After"][at], captures, told })));
showSections();
followPrinting();
