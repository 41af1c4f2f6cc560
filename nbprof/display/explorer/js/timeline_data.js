/** The op runs over time, steps, live memory, and the amounts of a stretch of time. */

import { numbers } from "./packed_columns.js";

/** @typedef {import("./packed_columns.js").Packed} Packed */
/** @typedef {import("./run_kinds.js").RunKinds} RunKinds */
/** @typedef {import("./run_kinds.js").Amounts} Amounts */
/**
 * @typedef {[number, number]} Range of µs
 * @typedef {{device: string, micros: Packed, bytes: Packed,
 *   peak: {micros: number, live_bytes: number}}} PackedMemory
 * @typedef {{edges: Packed, kind?: Packed, part?: Packed, runs: Packed, ns: Packed}} PackedBins
 * @typedef {{count: number, micros: number, levels: number, kinds: Packed, gaps: Packed,
 *   level: Packed}} PackedStretches
 * @typedef {{of: number, events: number, lanes: string[], start: Packed, micros: Packed,
 *   lane: Packed, kind: Packed, own_ns: Packed | null, own_shares: Packed | null,
 *   bins: PackedBins | null, stretches: PackedStretches | null,
 *   steps: {first: number, start: Packed, micros: Packed, names: Packed},
 *   memory: PackedMemory | null}} PackedTimeline
 */

/** Sums by bin, a part of the time, for a timeline that lacks some op runs. */
class Bins {
  /**
   * @param {PackedBins} packed
   * @param {import("./packed_columns.js").Buffers} buffers
   */
  constructor(packed, buffers) {
    this.edges = numbers(packed.edges, buffers);
    /** The number of sums of each kind; null if there is one for every bin. */
    this.ofKind = packed.kind ? numbers(packed.kind, buffers) : null;
    /** The bin of each sum; null if every kind has one for every bin. */
    this.part = packed.part ? numbers(packed.part, buffers) : null;
    this.runs = numbers(packed.runs, buffers);
    this.ns = numbers(packed.ns, buffers);
  }

  /**
   * Move the ends of a stretch of time to the nearest edges of bins.
   * @param {Range} range
   * @param {number} end of all the time
   * @returns {Range}
   */
  snap([from, to], end) {
    const edges = [...this.edges, end];
    /** @type {(time: number) => number} */
    const nearest = (time) =>
      edges.reduce((best, edge, at) => (Math.abs(edge - time) < Math.abs(edges[best] - time) ? at : best), 0);
    const first = Math.min(nearest(from), edges.length - 2);
    const last = Math.max(nearest(to), first + 1);
    return [edges[first], edges[last]];
  }

  /**
   * @param {Range} range as `snap` returned it
   * @param {number} kinds
   * @returns {Amounts}
   */
  amounts([from, to], kinds) {
    const events = new Float64Array(kinds);
    const ns = new Float64Array(kinds);
    for (let kind = 0, at = 0; kind < kinds; kind++) {
      const begins = at;
      const ends = at + (this.ofKind ? this.ofKind[kind] : this.edges.length);
      for (; at < ends; at++) {
        const begin = this.edges[this.part ? this.part[at] : at - begins];
        if (begin < from || begin >= to) continue;
        events[kind] += this.runs[at];
        ns[kind] += this.ns[at];
      }
    }
    return amountsOf(events, ns);
  }
}

/** Steps in which an op run's share of self time is stored, if not its self time. */
const SHARES = 8;

/** All op runs together: how full each short part of the time is, for a timeline that lacks some. */
class Stretches {
  /**
   * @param {PackedStretches} packed
   * @param {import("./packed_columns.js").Buffers} buffers
   */
  constructor(packed, buffers) {
    this.count = packed.count;
    /** The length of each in µs. */
    this.micros = packed.micros;
    /** A kind for each group of op runs, -1 if none is known. */
    this.kinds = numbers(packed.kinds, buffers);
    let sum = 0;
    /** Stretches of groups of lanes, in that order, in which anything ran. */
    this.at = numbers(packed.gaps, buffers).map((gap) => (sum += gap));
    this.share = numbers(packed.level, buffers).map((level) => level / packed.levels);
  }

  /** @param {(lane: number, kind: number, begin: number, end: number, share: number) => void} visit */
  each(visit) {
    const { at, share, kinds, count, micros } = this;
    for (let i = 0; i < at.length; i++) {
      const row = Math.floor(at[i] / count);
      const begin = (at[i] - row * count) * micros;
      visit(Math.floor(row / kinds.length), kinds[row % kinds.length], begin, begin + micros, share[i]);
    }
  }
}

/**
 * Convert whole nanoseconds, which add up exactly, into µs.
 * @param {Float64Array} events
 * @param {Float64Array} ns
 * @returns {Amounts}
 */
const amountsOf = (events, ns) => ({ events, micros: ns.map((time) => time / 1e3) });

export class Events {
  /**
   * @param {PackedTimeline} packed
   * @param {RunKinds} kinds
   * @param {string[]} strings
   * @param {import("./packed_columns.js").Buffers} buffers
   */
  constructor(packed, kinds, strings, buffers) {
    this.kinds = kinds;
    this.of = packed.of;
    this.count = packed.events;
    this.lanes = packed.lanes;
    this.start = numbers(packed.start, buffers);
    this.micros = numbers(packed.micros, buffers);
    this.lane = numbers(packed.lane, buffers);
    this.kind = numbers(packed.kind, buffers);
    this.ownNs = packed.own_ns && numbers(packed.own_ns, buffers);
    this.ownShares = packed.own_shares && numbers(packed.own_shares, buffers);
    this.bins = packed.bins && new Bins(packed.bins, buffers);
    this.stretches = packed.stretches && new Stretches(packed.stretches, buffers);
    const [starts, lengths, names] = ["start", "micros", "names"].map((name) =>
      numbers(packed.steps[/** @type {"start" | "micros" | "names"} */ (name)], buffers),
    );
    /** @type {{number: number, start: number, micros: number, name: string}[]} */
    this.steps = Array.from(starts, (start, at) => {
      const number = packed.steps.first + at;
      return { number, start, micros: lengths[at], name: strings[names[at]] };
    });
    this.memory = packed.memory && {
      device: packed.memory.device,
      peak: packed.memory.peak,
      micros: numbers(packed.memory.micros, buffers),
      bytes: numbers(packed.memory.bytes, buffers),
    };
    this.end = 0;
    this.longest = 0;
    for (let i = 0; i < this.count; i++) {
      this.end = Math.max(this.end, this.start[i] + this.micros[i]);
      this.longest = Math.max(this.longest, this.micros[i]);
    }
    for (const { start, micros } of this.steps) this.end = Math.max(this.end, start + micros);
    if (this.bins) this.end = Math.max(this.end, (this.bins.edges.at(-1) ?? 0) + 1);
    if (this.stretches) this.end = Math.max(this.end, this.stretches.count * this.stretches.micros);
  }

  /**
   * @param {number} event
   * @returns {number} the share of its duration that is its own, not that of ops inside or waiting
   */
  ownShare(event) {
    const { ownNs, ownShares, micros } = this;
    if (ownNs) return Math.min(ownNs[event] / (1e3 * micros[event]) || 0, 1);
    return ownShares ? ownShares[event] / SHARES : 1;
  }

  /** Whether any stretch of time can be added up, not only whole bins. */
  get exact() {
    return this.ownNs !== null;
  }

  /**
   * @param {Range} range
   * @returns {Range | null} the nearest stretch of time that can be added up; null if none can
   */
  snap(range) {
    if (this.exact) return range;
    return this.bins && this.bins.snap(range, this.end);
  }

  /**
   * Add up the runs of each kind that began in a stretch of time.
   * @param {Range} range
   * @returns {Amounts | null}
   */
  amounts(range) {
    const { ownNs, kinds } = this;
    if (!ownNs) return this.bins && this.bins.amounts(range, kinds.count);
    const events = new Float64Array(kinds.count);
    const ns = new Float64Array(kinds.count);
    for (let i = this.after(range[0]); i < this.count && this.start[i] < range[1]; i++) {
      events[this.kind[i]]++;
      ns[this.kind[i]] += ownNs[i];
    }
    return amountsOf(events, ns);
  }

  /**
   * @param {number} time
   * @returns {number} the first event that began at this time or later
   */
  after(time) {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
