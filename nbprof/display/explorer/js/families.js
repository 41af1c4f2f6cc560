/** Families of ops: the kind of work that op types do, and the kind that dominates a row. */

import { kindColour, MIXED, OTHER } from "./palette.js";
import { rowOf } from "./run_kinds.js";

/** @typedef {import("./view_table.js").Table} Table */
/** @typedef {import("./run_kinds.js").RunKinds} RunKinds */
/** @typedef {{name: string, colour: string}} Category */

/** Families with patterns; the first pattern that matches an op type is its family. */
/** @type {[string, RegExp][]} */
const FAMILIES = [
  ["communication", /^_?(Host)?(Send|Recv)$|^Collective|^Nccl|AllReduce|^all-|^reduce-sc|^collective/],
  ["input", /Dataset|Iterator|^Decode|^Parse|^ReadFile|Queue|^Reader|TFRecord|^Generator|^Optional|^infeed/],
  ["matrix work", /MatMul|Conv\d?D|Convol|Einsum|^dot|^conv|^custom-call|gemm|LSTM|GRU|RNN|Attention/i],
  ["variables, control", new RegExp(
    "Variable|^Assign|Apply|^VarHandle|Resource(?!Gather)|^(Stateless|Stateful)?(If|While|Case|For)$|" +
    "PartitionedCall|^_?(Switch|Merge|Enter|Exit|NextIteration|LoopCond|NoOp|no-op|Arg$|Retval|DeviceA)|" +
    "^while|^Assert|^conditional|^call$|^tuple|^get-tuple|Barrier|^Group|^_XlaRun|^XlaLaunch|Control",
  )],
  ["reduction", new RegExp(
    "^(Sum|Mean|Prod|Max|Min|All|Any|L2Loss|EuclideanNorm|LogSumExp|Bincount|TopK|TopKV2|InTopK)|^ArgM|" +
    "Pool|Softmax|CrossEntropy|Norm|BiasAddGrad|Segment|Cumsum|Cumprod|^AddN|^reduce|^sort|^Unique|^Where",
  )],
  ["data movement", new RegExp(
    "Reshape|Transpose|Concat|Slice|Gather|Scatter|Pad|Cast|[Cc]opy|Identity|Split|Pack|Stack|Tile|" +
    "ExpandDims|Squeeze|Shape|Const|Fill|Broadcast|Reverse|OneHot|Range|Rank|Size|Snapshot|TensorList|" +
    "[Bb]itcast|Shuffle|^iota|^MEMCPY|[Mm]emcpy|[Mm]emset|LookupTable|^convert|ZerosLike|OnesLike|Layout",
  )],
  ["elementwise", new RegExp(
    "^_?(Mkl(Native)?)?(Fused)?(Add|Sub|Mul|Real|Div|Floor|Ceil|Round|Pow|Exp|Log|Sqrt|Rsqrt|Square|" +
    "Abs|Neg|Sign|Relu|Elu|Selu|Gelu|Tanh|Sigmoid|Soft[ps]|Leaky|Erf|Sin|Cos|Maximum|Minimum|Equal|" +
    "NotEqual|Greater|Less|Logical|Select|Clip|Bias|Reciprocal|Inv|Mod|Trunc|Is|Xlogy|Xdivy|Random|" +
    "Stateless|Truncated|Dropout|Next|Bitwise|Inverse|fusion|loop|wrapped|add|sub|multiply|" +
    "divide|exponential|select|compare|tanh|maximum|minimum|power|negate|abs|log|rng|clamp|and|or|not|xor)",
  )],
];
/** Least share of a row's time that makes a category the row's own. */
const MOSTLY = 2 / 3;

/**
 * @param {string} type of an op
 * @returns {number} the place of its family; FAMILIES.length if none matches
 */
export function familyOf(type) {
  const place = FAMILIES.findIndex(([, pattern]) => pattern.test(type));
  return place < 0 ? FAMILIES.length : place;
}

/** @type {Category[]} */
export const FAMILY_CATEGORIES = [
  ...FAMILIES.map(([name], place) => ({ name, colour: kindColour(place) })),
  { name: "other", colour: OTHER },
];

/**
 * A way to tell kinds of op runs apart: a category for each.
 * @typedef {{of: Uint8Array, categories: Category[]}} Division
 */

/**
 * @param {RunKinds} kinds
 * @returns {Division}
 */
export function byFamily({ types, strings, count }) {
  const of = new Uint8Array(count);
  const places = new Uint8Array(strings.length).fill(255);
  for (let kind = 0; kind < count; kind++) {
    const type = types[kind];
    if (places[type] === 255) places[type] = familyOf(strings[type]);
    of[kind] = places[type];
  }
  return { of, categories: FAMILY_CATEGORIES };
}

/**
 * Tell kinds apart by a text; the texts that took the most time get a colour each.
 * @param {RunKinds} kinds
 * @param {ArrayLike<number>} codes of the texts
 * @returns {Division}
 */
export function byText(kinds, codes) {
  /** @type {Map<number, number>} */
  const time = new Map();
  const { micros } = kinds.all;
  for (let kind = 0; kind < codes.length; kind++) {
    time.set(codes[kind], (time.get(codes[kind]) ?? 0) + micros[kind]);
  }
  const order = [...time].sort((a, b) => b[1] - a[1]).map(([code]) => code);
  const places = new Map(order.map((code, at) => [code, Math.min(at, FAMILIES.length)]));
  const categories = order.slice(0, FAMILIES.length).map((code, at) => {
    return { name: kinds.strings[code] || "none", colour: kindColour(at) };
  });
  const more = order.length - categories.length;
  if (more > 0) categories.push({ name: `${more} others`, colour: OTHER });
  const of = Uint8Array.from({ length: kinds.count }, (_, at) => places.get(codes[at]) ?? 0);
  return { of, categories };
}

/**
 * Find the category that most of each row's time is in; categories.length if none dominates.
 * @param {Table} table
 * @param {RunKinds} kinds
 * @param {Division} division
 * @returns {Uint8Array | null}
 */
export function mostOf(table, kinds, { of, categories }) {
  const rows = table.kindRows;
  if (!rows) return null;
  const most = new Uint8Array(table.rows).fill(categories.length);
  const best = new Float64Array(table.rows);
  const all = new Float64Array(table.rows);
  /** @type {(Float64Array | undefined)[]} */
  const times = [];
  const { micros } = kinds.all;
  for (let kind = 0; kind < rows.length; kind++) {
    const row = rowOf(rows[kind]);
    const time = (times[of[kind]] ??= new Float64Array(table.rows));
    // Kinds that took no time count, too.
    if (row >= 0) time[row] += micros[kind] + 1e-6;
  }
  times.forEach((time, category) => {
    if (!time) return;
    for (let row = table.rows - 1; row >= 0; row--) {
      if (table.parent[row] >= 0) time[table.parent[row]] += time[row];
      all[row] += time[row];
      if (time[row] > best[row]) {
        best[row] = time[row];
        most[row] = category;
      }
    }
  });
  for (let row = 0; row < table.rows; row++) {
    if (best[row] < MOSTLY * all[row]) most[row] = categories.length;
  }
  return most;
}

/** @type {Category} */
export const SEVERAL = { name: "several", colour: MIXED };
