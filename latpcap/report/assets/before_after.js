/** The page of two captures, part by part. */

import { showCurves } from "./both_curves.js";
import { followPrinting } from "./printing.js";
import { showSections } from "./sections.js";
import { showTheme } from "./theme.js";

showTheme();
showCurves();
showSections();
followPrinting();
