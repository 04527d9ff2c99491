/** The page of two captures, part by part. */

import { showCurves } from "./both_curves.js";
import { followPrinting } from "./printing.js";
import { showTables } from "./table.js";
import { showTheme } from "./theme.js";

showTheme();
showCurves();
showTables();
followPrinting();
