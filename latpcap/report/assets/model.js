/** What the page reads off the replayed jobs: runtime, range, savings and parts at any RTT. Pure functions. */

/** The value at `x` of the line through the points (xs ascending); beyond its ends the outer pieces go on. */
export function readAt(xs, ys, x) {
  if (xs.length === 1) return ys[0];
  let right = 1;
  while (right < xs.length - 1 && xs[right] < x) right += 1;
  const [x0, x1, y0, y1] = [xs[right - 1], xs[right], ys[right - 1], ys[right]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** The job with exactly these fixes made (a set of switches). */
export const jobWith = ({ jobs }, fixes) =>
  jobs.find((job) => job.fixes.length === fixes.size && job.fixes.every((fix) => fixes.has(fix)));

/** Runtime, range, statements per second, and what the next millisecond adds, at an RTT. */
export function projectAt(job, rtt) {
  const { curve } = job;
  const at = (name, there = rtt) => Math.max(readAt(curve.rtt_ms, curve[name], there), 0);
  const [runtime, last] = [at("runtime_s"), curve.rtt_ms.at(-1)];
  const from = Math.min(rtt, last - 1);
  return {
    runtime,
    optimistic: at("optimistic_s"),
    pessimistic: at("pessimistic_s"),
    throughput: runtime > 0 ? job.statements / runtime : null,
    slope: Math.max(at("runtime_s", from + 1) - at("runtime_s", from), 0),
  };
}

/** The seconds that some fixes save at an RTT: the job as it is, less the one with them. */
export const savedBy = (data, fixes, rtt) =>
  Math.max(projectAt(data.jobs[0], rtt).runtime - projectAt(jobWith(data, fixes), rtt).runtime, 0);

/** The seconds that the fix of a finding saves: its part of what the switch saves. */
export function savedAt(data, index, rtt) {
  const fix = data.switches.findIndex((each) => each.findings.includes(index));
  return fix < 0 ? 0 : data.findings_parts[index] * savedBy(data, new Set([fix]), rtt);
}

/** The seconds that all round trips of a job take at an RTT. */
export const networkAt = ({ curve, parts }, rtt) => Math.max(readAt(curve.rtt_ms, parts.network_s, rtt), 0);

/** By what the network's waits of the capture grow. */
export const networkFactor = (job, rtt) => (job.taken_network_s > 0 ? networkAt(job, rtt) / job.taken_network_s : 1);

/** The parts of a job's runtime at an RTT: they add up to it. */
export const partsAt = ({ curve, parts }, rtt) =>
  Object.fromEntries(Object.entries(parts).map(([name, seconds]) => [name, Math.max(readAt(curve.rtt_ms, seconds, rtt), 0)]));
