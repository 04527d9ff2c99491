/** The timeline's blocks: unpacking them, drawing a lane, finding what lies at a moment. */

import { colour } from "./charts.js";

/** Bottom to top in a lane. */
export const PART_NAMES = ["stall", "network", "service", "loss", "transfer", "setup", "unknown"];

/** A lane with the start and the end of each block in µs and its parts; `interval` is the length where all are equal. */
export function unpack(lane, interval) {
  const size = lane.gap.length;
  const start = new Float64Array(size);
  const end = new Float64Array(size);
  const parts = PART_NAMES.map((name) => Float64Array.from(lane[name] ?? new Float64Array(size)));
  let at = 0;
  for (let index = 0; index < size; index += 1) {
    at += lane.gap[index];
    start[index] = at;
    end[index] = at + (interval || parts.reduce((sum, part) => sum + part[index], 0));
  }
  return { ...lane, start, end, parts, longest: longest(start, end) };
}

const longest = (start, end) => end.reduce((most, each, index) => Math.max(most, each - start[index]), 0);

/** The first block that can reach beyond `moment`: those before it are too short to. */
function firstFrom(lane, moment) {
  let [low, high] = [0, lane.start.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.start[middle] + lane.longest < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The µs that each part takes in each of `columns` equal steps between two moments, part by part. */
function inColumns(lane, from, to, columns) {
  const sums = PART_NAMES.map(() => new Float64Array(columns));
  const step = (to - from) / columns;
  for (let index = firstFrom(lane, from); index < lane.start.length && lane.start[index] <= to; index += 1) {
    spread(lane, index, from, step, columns, sums);
  }
  return { sums, step };
}

/** Adds one block's parts to the columns that it covers, evenly over its length. */
function spread(lane, index, from, step, columns, sums) {
  const [start, end] = [lane.start[index], Math.max(lane.end[index], lane.start[index] + 1)];
  const first = Math.max(Math.floor((start - from) / step), 0);
  const last = Math.min(Math.floor((end - from) / step), columns - 1);
  for (let column = first; column <= last; column += 1) {
    const left = from + column * step;
    const share = (Math.min(end, left + step) - Math.max(start, left)) / (end - start);
    if (share > 0) sums.forEach((sum, part) => (sum[column] += share * lane.parts[part][index]));
  }
}

/** Draws a lane into a box of the canvas: the height of a colour is its share of the time. */
export function drawLane(ctx, lane, from, to, box) {
  const { sums, step } = inColumns(lane, from, to, box.width);
  const colours = PART_NAMES.map(colour);
  for (let column = 0; column < box.width; column += 1) {
    const busy = sums.reduce((total, sum) => total + sum[column], 0);
    if (busy === 0) continue;
    const scale = (box.height / Math.max(busy, step)) * Math.max(1, leastShare(busy, step));
    let bottom = box.top + box.height;
    sums.forEach((sum, part) => {
      const height = sum[column] * scale;
      if (height === 0) return;
      ctx.fillStyle = colours[part];
      ctx.fillRect(box.left + column, bottom - height, 1, height);
      bottom -= height;
    });
  }
}

const LEAST_SHARE = 0.12;

/** By what a nearly idle step is magnified, so that it can be seen at all. */
const leastShare = (busy, step) => (busy < step * LEAST_SHARE ? (step * LEAST_SHARE) / busy : 1);

/** The index of the block at a moment, or the nearest one within `reach`; -1 for none. */
export function blockAt(lane, moment, reach) {
  let [best, distance] = [-1, reach];
  for (let index = firstFrom(lane, moment - reach); index < lane.start.length && lane.start[index] <= moment + reach; index += 1) {
    const away = Math.max(lane.start[index] - moment, moment - lane.end[index], 0);
    if (away < distance || (away === 0 && best < 0)) [best, distance] = [index, away];
  }
  return best;
}
