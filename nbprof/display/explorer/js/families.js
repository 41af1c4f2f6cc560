/** Families of ops: what kind of work an op type is, and which of them a row is made of. */

import { kindColour, MIXED, OTHER } from "./palette.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./kinds.js").Kinds} Kinds */
/** @typedef {{name: string, colour: string}} Category */

/** The first that fits counts. */
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
const MOSTLY = 2 / 3;

/**
 * @param {string} type of an op
 * @returns {number} the place of its family; as many as there are: none fits
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
 * A way to tell kinds of op runs apart: a number for each, and what the numbers mean.
 * @typedef {{of: Uint8Array, categories: Category[]}} Division
 */

/**
 * @param {Kinds} kinds
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
 * Tell kinds apart by a text; those that took the most time have a colour each.
 * @param {Kinds} kinds
 * @param {ArrayLike<number>} codes of the texts
 * @returns {Division}
 */
export function byText(kinds, codes) {
  /** @type {Map<number, number>} */
  const time = new Map();
  const { ns } = kinds.all;
  for (let kind = 0; kind < codes.length; kind++) {
    time.set(codes[kind], (time.get(codes[kind]) ?? 0) + ns[kind]);
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
 * Give every row the category that most of its time is in; as many as there are: no one is.
 * @param {Table} table
 * @param {Kinds} kinds
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
  const { ns } = kinds.all;
  for (let kind = 0; kind < rows.length; kind++) {
    const row = rows[kind] < -1 ? -2 - rows[kind] : rows[kind];
    const time = (times[of[kind]] ??= new Float64Array(table.rows));
    // What took no time at all still is what it is.
    if (row >= 0) time[row] += ns[kind] + 1e-3;
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
