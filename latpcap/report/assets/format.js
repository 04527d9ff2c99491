/** Numbers as people read them; the same words and digits as latpcap's other reports. */

/** Three significant digits, trailing zeros kept, thousands separated. */
export function significant(value, digits = 3) {
  if (Math.abs(value) < 1e-6) return "0";
  return value.toLocaleString("en-US", { minimumSignificantDigits: digits, maximumSignificantDigits: digits });
}

/** At most that many significant digits, as somebody would write a figure that was chosen. */
export const given = (value, digits = 3) => Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumSignificantDigits: digits });

/** A whole number with thousands separated. */
export const count = (value) => Math.round(value).toLocaleString("en-US");

/** `1 round trip`, `2 round trips`. */
export const counted = (value, word, plural = "s") => `${count(value)} ${word}${value === 1 ? "" : plural}`;

/** A share of 0 to 1 in per cent. */
export function percent(share) {
  if (share > 0 && share < 0.0005) return "under 0.1%";
  return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}%`;
}

/** Measured milliseconds with the unit that fits. */
export function formatMs(milliseconds) {
  if (milliseconds >= 1000) return formatS(milliseconds / 1000);
  if (milliseconds > 0 && milliseconds < 0.1) return `${significant(milliseconds * 1000)} µs`;
  return `${significant(milliseconds)} ms`;
}

/** Milliseconds that somebody chose (an RTT to project to, an axis's step): no more digits than they have. */
export function formatGivenMs(milliseconds) {
  if (milliseconds >= 1000) return `${given(milliseconds / 1000)} s`;
  if (milliseconds > 0 && milliseconds < 0.1) return `${given(milliseconds * 1000)} µs`;
  return `${given(milliseconds)} ms`;
}

/** Seconds with three significant digits; minutes, hours and days beside long ones. */
export function formatS(seconds) {
  const size = Math.abs(seconds);
  if (size > 0 && size < 0.1) return formatMs(seconds * 1000);
  if (size < 100) return `${significant(seconds)} s`;
  if (size < 600) return `${count(seconds)} s`;
  return `${count(seconds)} s (${clock(seconds)})`;
}

function clock(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(seconds / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const decimalsOf = (value) => Math.min(Math.max(2 - Number(value.toExponential(2).split("e")[1]), 0), 9);

/** How the values of a column are written, as in all tables: three digits, and three decimals unless all are small. */
export function inColumn(values) {
  const largest = Math.max(0, ...values.map(Math.abs));
  const most = largest > 0 ? Math.max(3, decimalsOf(largest)) : 3;
  return (value) => {
    if (value === 0) return "0";
    const decimals = Math.min(decimalsOf(value), most);
    const least = 10 ** -decimals;
    if (value > 0 && value < least / 2) return `<${least.toFixed(decimals)}`;
    return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  };
}
