/** What the page computes itself: the projection, the savings and the parts at any RTT. Pure functions. */

/** The value at `x` of the line through the points (xs ascending); beyond its ends the outer pieces go on. */
export function readAt(xs, ys, x) {
  if (xs.length === 1) return ys[0];
  let right = 1;
  while (right < xs.length - 1 && xs[right] < x) right += 1;
  const [x0, x1, y0, y1] = [xs[right - 1], xs[right], ys[right - 1], ys[right]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** True where the RTT of the capture is known. */
export const isProjected = (curve) => curve.runtime_s[0] !== null;

/** Runtime, range and throughput at an RTT, less what the fixes save there. */
export function projectAt(curve, rtt, saved = 0) {
  const at = (name) => readAt(curve.rtt_ms, curve[name], rtt);
  const runtime = at("runtime_s");
  const left = (seconds) => Math.max(seconds - saved, 0);
  const throughput = curve.throughput_per_s[0] === null ? null : at("throughput_per_s");
  return {
    runtime: left(runtime),
    optimistic: left(at("optimistic_s")),
    pessimistic: left(at("pessimistic_s")),
    throughput: throughput === null || left(runtime) === 0 ? null : (throughput * runtime) / left(runtime),
  };
}

/** The seconds that a finding's fix saves at an RTT. */
export function savedAt(finding, rtt) {
  const points = Object.entries(finding.saved_s ?? {})
    .map(([at, seconds]) => [Number(at), seconds])
    .filter(([, seconds]) => seconds !== null)
    .sort((a, b) => a[0] - b[0]);
  if (points.length === 0) return 0;
  return Math.max(readAt(points.map(([at]) => at), points.map(([, seconds]) => seconds), rtt), 0);
}

/** The seconds that some fixes save together; findings do not overlap, so they add. */
export const savedTogether = (findings, chosen, rtt) =>
  findings.reduce((sum, finding, index) => sum + (chosen.has(index) ? savedAt(finding, rtt) : 0), 0);

/** By what the network's parts grow when the runtime becomes `runtime`; `added` seconds go to the network. */
export function networkFactor(budget, setupNetwork, measured, runtime) {
  const network = budget.network_s + setupNetwork;
  return network > 0 ? Math.max(1 + (runtime - measured) / network, 0) : 1;
}

/** The parts of the runtime at another RTT, less `saved` seconds that come off the network first. */
export function budgetAt(budget, setupNetwork, measured, runtime, saved = 0) {
  const factor = networkFactor(budget, setupNetwork, measured, runtime);
  const parts = { ...budget };
  parts.network_s = budget.network_s * factor;
  parts.setup_s = budget.setup_s + setupNetwork * (factor - 1);
  if (budget.network_s + setupNetwork === 0) parts.network_s += Math.max(runtime - measured, 0);
  let rest = saved;
  for (const name of ["network_s", "setup_s", "service_s", "transfer_s", "client_s"]) {
    const taken = Math.min(rest, parts[name]);
    [parts[name], rest] = [parts[name] - taken, rest - taken];
  }
  return parts;
}
