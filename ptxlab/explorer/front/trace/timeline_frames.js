// The instruction as a list of frames: operands in registers or shared memory, sums along K, and D. Cells and lanes
// come from the maps of the matrices, sums from Python.

import { memoize } from "../common/memoize.js";
import { hex, plural } from "../common/numbers.js";
import { holderNoun, joinedRuns, span } from "../matrix/describe.js";
import { cellOfIndex, isZero } from "../matrix/matrix.js";
import { asMarks } from "../memory/byte_map.js";
import { CLOSE_UP } from "../story/close_up.js";
import { paceOf } from "../story/sheet.js";
import { linkedWords } from "../tensor/transfers.js";

// At most so many frames: of an operand that goes into registers; of core matrices; of steps along K; of words between
// memory and registers.
const MAX_FRAMES = 8;
const MAX_WALKED = 16;
const MAX_STEPS = 64;
const MAX_MOVES = 64;
const WARP_LANES = 32;
const QUAD = 4; // lanes that hold a row of a matrix
// Milliseconds for which a frame stays. Operands take LOAD_TIME together, so that the products soon begin.
const HOLD = { load: 500, walk: 900, wavefront: 1200, start: 600, closeUp: 3200, out: 1600 };
const LOAD_TIME = 2000;
const AFTER_PRODUCTS = 40;
const MAX_RUNS = 4; // of numbers that a sentence lists

const ALONG_K = "The products: for each k, column k of A times row k of B is added to D";

/** @param {Content} content @param {MemoryView} memory @param {Trace | null} trace of the sum that is followed @returns {TimelinePart[]} */
export function timelineParts(content, memory, trace) {
  const { instruction } = content;
  if (instruction.transfer) return transferParts(content);
  /** @type {AnyMatrices} */
  const matrices = content.matrices;
  /** @param {Name} name @param {string} title @param {string} way @returns {TimelinePart} */
  const partOf = (name, title, way) => {
    const matrix = content.matrices[name];
    const inMemory = memory.isOpen && memory.data.name === name;
    const space = matrix?.place ? "tensor memory" : "registers";
    const about = `${matrix?.label} ${way} ${matrix?.core || inMemory ? "shared memory" : space}`;
    return { name: title, about, frames: matrix ? framesOf(content, matrix, inMemory ? memory : null) : [] };
  };
  const inputs = /** @type {Name[]} */ ([matrices.stored ? "stored" : "A", "E", "B", "SFA", "SFB"]);
  if (matrices.C && !isZero(matrices.C)) inputs.push("C");
  const parts = inputs.map((name) => partOf(name, matrices[name]?.label ?? "", "is read from"));
  const loads = parts.flatMap(({ frames }) => frames);
  for (const frame of loads) {
    frame.summed = -1;
    if (frame.memory === undefined) frame.hold = Math.min(frame.hold, LOAD_TIME / loads.length);
  }
  parts.push(...sums(content, trace));
  if (!matrices.D.unknown) parts.push(partOf("D", "D out", "is left in"));
  return parts.filter(({ frames }) => frames.length);
}

// -- where cells are: registers, core matrices, lanes of tensor memory --

// Cells by some number of theirs, in the order of those; cells whose number is negative are left out.
/** @param {number} count @param {(index: number) => number} numberOf */
function groupsOf(count, numberOf) {
  const groups = /** @type {Map<number, number[]>} */ (new Map());
  for (let index = 0; index < count; index += 1) {
    const number = numberOf(index);
    const group = groups.get(number);
    if (group) group.push(index);
    else if (number >= 0) groups.set(number, [index]);
  }
  return new Map([...groups].sort(([one], [other]) => one - other));
}

// Those of a map, made once.
const cellsBy = memoize((/** @type {Int16Array} */ map) => groupsOf(map.length, (index) => map[index]));

// Joins groups until there are few enough.
/** @param {Map<number, number[]>} groups @param {number} most @returns {CellGroup[]} */
function few(groups, most) {
  const all = [...groups];
  const perFrame = Math.ceil(all.length / most);
  const joined = /** @type {CellGroup[]} */ ([]);
  for (let at = 0; at < all.length; at += perFrame) {
    const some = all.slice(at, at + perFrame);
    joined.push({
      first: some[0][0],
      last: some[some.length - 1][0],
      cells: some.flatMap(([, cells]) => cells),
    });
  }
  return joined;
}

/** @param {string} word @param {number} first @param {number} last */
const numbered = (word, first, last) => `${word}${first === last ? "" : "s"} ${span(first, last)}`;

// "8..15", "1, 3, 5, 7", "0..7, 16..23, 32..39, 48..55"; of more runs the first and the last.
/** @param {number[]} numbers */
function runsOf(numbers) {
  const texts = joinedRuns([...new Set(numbers)].sort((one, other) => one - other));
  if (texts.length <= MAX_RUNS) return texts.join(", ");
  return `${texts[0]}, ${texts[1]}, … ${texts[texts.length - 1]}`;
}

// "rows 8..15, columns 0..7"
/** @param {Matrix} matrix @param {number[]} cells */
function extent({ columns }, cells) {
  /** @param {string} word @param {(index: number) => number} of */
  const named = (word, of) => {
    const runs = runsOf(cells.map(of));
    return `${word}${/^\d+$/.test(runs) ? "" : "s"} ${runs}`;
  };
  return `${named("row", (index) => Math.floor(index / columns))}, ${named("column", (index) => index % columns)}`;
}

// -- operands on their way in, and D on its way out --

/** @param {Content} content @param {Matrix} matrix @param {MemoryView | null} memory that shows it @returns {Frame[]} */
function framesOf(content, matrix, memory) {
  if (memory) return accesses(memory);
  if (content.instruction.tensor && matrix.place) return laneFrames(matrix); // its lanes are those of a later load
  if (matrix.lane && matrix.registerOf) return registerFrames(content, matrix);
  return matrix.core ? coreFrames(matrix) : [];
}

// "every lane", or those of each four that are read: the selector's.
/** @param {number[]} lanes */
function lanesIn(lanes) {
  const inQuad = [...new Set(lanes.map((lane) => lane % QUAD))].sort((one, other) => one - other);
  if (inQuad.length === QUAD) return "every lane";
  return `${inQuad.length === 1 ? "lane" : "lanes"} ${inQuad.join(" and ")} of each four`;
}

// Register by register, of all lanes at once.
/** @param {Content} content @param {Matrix & InLanes} matrix @returns {Frame[]} */
function registerFrames(content, matrix) {
  const { name, label, lane: laneOf } = matrix;
  const isOut = name === "D";
  return few(cellsBy(matrix.registerOf), MAX_FRAMES).map(({ first, last, cells }) => ({
    text: () => {
      const own = cells
        .filter((index) => laneOf[index] === content.lane)
        .map((index) => nameAt(matrix, index));
      const some = own.length > 4 ? `${own.slice(0, 3).join(", ")} … ${own.at(-1)}` : own.join(", ");
      const way = isOut ? "is left in" : "is in";
      const holds = own.length
        ? `; ${holderNoun(content.instruction)} ${content.lane} ${isOut ? "gets" : "holds"} ${some}`
        : "";
      const lanes = lanesIn(cells.map((index) => laneOf[index]));
      return `${label}, ${extent(matrix, cells)}, ${way} ${numbered("register", first, last)} of ${lanes}${holds}`;
    },
    marks: () => asMarks(name, matrix.columns, cells),
    flights: () => cells.map((index) => ({ cell: cellOfIndex(matrix, index), lane: laneOf[index] })),
    lanes: cells.map((index) => laneOf[index]),
    register: { name, register: first },
    hold: isOut ? HOLD.out : HOLD.load,
  }));
}

/** @param {Matrix} matrix @param {number} index */
const nameAt = ({ label, columns }, index) => `${label}[${Math.floor(index / columns)}][${index % columns}]`;

// Core matrix by core matrix, as the descriptor walks the tile.
/** @param {Matrix & InMemory} matrix @returns {Frame[]} */
function coreFrames(matrix) {
  const { name, label, byte } = matrix;
  return few(cellsBy(matrix.core), MAX_WALKED).map(({ first, last, cells }) => ({
    text: () => {
      const start = cells.reduce((least, index) => Math.min(least, byte[index]), Infinity);
      const which = first === last ? `core matrix ${first}` : `core matrices ${span(first, last)}`;
      return `${label}, ${extent(matrix, cells)}, is read from shared memory: ${which}, from byte ${hex(start, 12)} of the tile`;
    },
    marks: () => asMarks(name, matrix.columns, cells),
    hold: HOLD.walk,
  }));
}

// 32 lanes of tensor memory after the others: those that one warp can reach.
/** @param {Matrix} matrix @returns {Frame[]} */
function laneFrames(matrix) {
  const { name, label, place } = matrix;
  if (!place) return [];
  const { lane: laneOf } = place;
  const byWarp = groupsOf(laneOf.length, (index) => Math.floor(laneOf[index] / WARP_LANES));
  return few(byWarp, MAX_FRAMES).map(({ first, last, cells }) => ({
    text: () => {
      const lanes = span(first * WARP_LANES, (last + 1) * WARP_LANES - 1);
      const way = name === "D" ? "is written to" : "is read from";
      return `${label}, ${extent(matrix, cells)}, ${way} lanes ${lanes} of tensor memory`;
    },
    marks: () => asMarks(name, matrix.columns, cells),
    hold: HOLD.out,
  }));
}

// The access of the memory view: wavefront by wavefront, then the registers.
/** @param {MemoryView} memory @returns {Frame[]} */
function accesses({ data, access }) {
  return data.steps.map((step, index) => ({
    text: () => step.text,
    marks: () => access.marks(),
    memory: index,
    hold: HOLD.wavefront,
  }));
}

// -- the sum --

// Along K, then the bits of the cell that is followed.
/** @param {Content} content @param {Trace | null} trace @returns {TimelinePart[]} */
function sums(content, trace) {
  const { D } = content.matrices;
  if ((D.whole ?? D).unknown) return [];
  const along = { name: "along K", about: ALONG_K, frames: alongK(content, trace), isSum: Boolean(trace) };
  const { bits, steps = [], apart } = trace?.dot_product ?? {};
  if (!trace || !bits) return [along];
  const cell = `D[${trace.row}][${trace.column}]`;
  /** @param {number} closeUp @param {string} text @param {boolean} [isDone] @returns {Frame} */
  const frame = (closeUp, text, isDone = false) => ({
    text: () => text,
    marks: () => [
      { name: "D", row: trace.row, column: trace.column },
      ...factorMarks(content, trace, { first: 0, last: content.instruction.k - 1 }),
    ],
    closeUp,
    hold: HOLD.closeUp,
    step: isDone ? steps[steps.length - 1] : undefined,
    ...(isDone ? {} : { summed: content.instruction.k }),
  });
  const align = steps.find(({ role }) => role === "align");
  const isCut = bits[0].terms.some(({ last }) => last !== null);
  const terms = bits[0].terms.length;
  const exact = bits[0].exact ? `; the exact sum is ${bits[0].exact}` : "";
  const frames = [frame(CLOSE_UP.products, `${cell}: ${terms} terms, each a sign and a few bits`)];
  frames.push(frame(CLOSE_UP.align, align?.text ?? "the terms at one exponent, beside each other"));
  if (isCut) frames.push(frame(CLOSE_UP.cut, cutWords(bits[0])));
  const parts = [
    along,
    { name: `sum of ${cell}`, about: `The bits of the terms of ${cell}`, frames },
    {
      name: "round",
      about: "The sum is rounded to the type of D",
      frames: [frame(CLOSE_UP.add, `${steps[steps.length - 1].text}${exact}`, true)],
    },
  ];
  if (bits.length < 2 || !apart) return parts;
  const other = frame(CLOSE_UP.other, apart, true);
  return [...parts, { name: "chips part", about: "The same element on the other chip", frames: [other] }];
}

// What falls off.
/** @param {BitBars} bars */
function cutWords({ terms }) {
  const cut = terms.filter(({ lead, digits, last }) => last !== null && lead - digits.length + 1 < last);
  const lasts = [...new Set(cut.map(({ last }) => `2^${last}`))].join(", ");
  const bits = `the bits of ${cut.length} ${plural(cut.length, "term")} below ${lasts}`;
  return cut.length ? `${bits} hang over and fall off` : "nothing hangs over: no bit falls off";
}

// A step for each k, or for several; before the first, D is C.
/** @param {Content} content @param {Trace | null} trace @returns {Frame[]} */
function alongK(content, trace) {
  const { k, m, n, mma_count: count } = content.instruction;
  const { C, stored } = /** @type {AnyMatrices} */ (content.matrices);
  const perFrame = Math.ceil(k / MAX_STEPS);
  const length = Math.ceil(k / perFrame);
  const steps = trace?.dot_product?.steps ?? [];
  const products = `${m} × ${n}${count > 1 ? ` × ${count}` : ""}`;
  const frames = Array.from({ length }, (_, index) => {
    const path = { first: index * perFrame, last: Math.min(k, (index + 1) * perFrame) - 1 };
    const { first, last } = path;
    const step = steps.findLast((one) => one.k && one.k[1] >= first && one.k[1] <= last);
    const dense = first === last ? "a column of A times a row of B" : "columns of A times rows of B";
    const what = stored
      ? "each row of A has its nibbles, which choose the rows of B that its stored elements meet"
      : `${dense}, ${products} products for each k`;
    const isOne = trace && stored && first === last;
    const nothing = isOne ? `A[${trace.row}][${first}] is not stored and adds nothing` : "";
    const all = `k = ${span(first, last)}: ${nothing || `${what}; sums are exact so far`}`;
    return {
      text: () =>
        step && first < last ? `k = ${span(first, last)}, at last ${step.text}` : (step?.text ?? all),
      operation: step?.operation,
      step,
      marks: () => [
        ...factorMarks(content, null, path),
        ...(trace ? [{ name: /** @type {Name} */ ("D"), row: trace.row, column: trace.column }] : []),
        ...(trace && step ? factorMarks(content, trace, path) : []),
      ],
      summed: last + 1,
      path,
      hold: paceOf(index + 1, length) + AFTER_PRODUCTS,
    };
  });
  if (!C || isZero(C)) return frames;
  const first = steps.find(({ role }) => role === "C");
  /** @type {Frame} */
  const start = {
    text: () => first?.text ?? `every sum begins with ${C.label}`,
    step: first,
    marks: () => [{ name: "C", row: 0, row2: C.rows - 1, column: 0, column2: C.columns - 1 }],
    summed: 0,
    hold: HOLD.start,
  };
  return [start, ...frames];
}

// The cells of some k: of all of A and B, or of the row and column of a sum; with their scale factors, and compressed
// cells and nibbles of a sparse A.
/** @param {Content} content @param {Trace | null} trace @param {Path} path @returns {Mark[]} */
function factorMarks({ instruction, matrices }, trace, { first, last }) {
  const { A, B, SFA, SFB, stored, E } = /** @type {AnyMatrices} */ (matrices);
  const row = trace?.row ?? 0;
  const row2 = trace?.row ?? A.rows - 1;
  const column = trace?.dot_product?.column_of_b ?? 0;
  const column2 = trace?.dot_product?.column_of_b ?? B.columns - 1;
  /** @type {Mark[]} */
  const marks = [
    { name: "A", row, row2, column: first, column2: last },
    { name: "B", row: first, row2: last, column, column2 },
  ];
  if (SFA && SFB) {
    const [block, block2] = [first, last].map((k) => Math.floor((k * SFA.columns) / A.columns));
    marks.push({ name: "SFA", row, row2, column: block, column2: block2 });
    marks.push({ name: "SFB", row: block, row2: block2, column, column2 });
  }
  if (!stored || !E) return marks;
  const [chunk, chunk2] = [first, last].map((k) => Math.floor(k / instruction.chunk));
  const { kept } = instruction;
  return [
    ...marks,
    { name: "stored", row, row2, column: chunk * kept, column2: (chunk2 + 1) * kept - 1 },
    { name: "E", row, row2, column: chunk, column2: chunk2 },
  ];
}

// -- transfers: their words on the way --

// Register by register, four lanes or one warp at a time; without registers by the rows that are written.
/** @param {Content} content @returns {TimelinePart[]} */
function transferParts(content) {
  const { A, D } = content.matrices;
  const { transfer, mnemonic } = content.instruction;
  if (!A || !D || !transfer) return [];
  const [matrix, other] = transfer.registers === "A" ? [A, D] : [D, A];
  const perRegister = Math.max(1, WARP_LANES / matrix.bits);
  const together = matrix.rows <= WARP_LANES ? QUAD : WARP_LANES; // lanes
  const groups = groupsOf(matrix.rows * matrix.columns, (index) => {
    const cell = cellOfIndex(matrix, index);
    if (!linkedWords(content.matrices, cell).length) return -1;
    const register = transfer.registers ? Math.floor(cell.column / perRegister) : 0;
    return register * matrix.rows + Math.floor(cell.row / together);
  });
  const frames = few(groups, MAX_MOVES).map(({ cells }) =>
    transferFrame(content, matrix, other, cells, perRegister),
  );
  return [{ name: transfer.family ?? mnemonic, about: "Words move between memory and registers", frames }];
}

// Cells of what is in registers, or written, with what they are linked to.
/** @param {Content} content @param {Matrix} matrix @param {Matrix} other @param {number[]} cells @param {number} perRegister @returns {Frame} */
function transferFrame(content, matrix, other, cells, perRegister) {
  const isSource = matrix.name === "A";
  const linked = cells.map((index) => {
    const cell = cellOfIndex(matrix, index);
    return { cell, others: linkedWords(content.matrices, cell) };
  });
  const others = linked.flatMap((link) => link.others.map(({ row, column }) => row * other.columns + column));
  return {
    text: () => {
      const ways = extent(other, others);
      const rows = [...new Set(others.map((index) => Math.floor(index / other.columns)))];
      const address =
        other.address_lanes && rows.length === 1 ? `, whose address lane ${rows[0]} supplies` : "";
      return `${placeInRegisters(content, matrix, cells, perRegister)} ${isSource ? "goes to" : "comes from"} ${other.label}, ${ways}${address}`;
    },
    marks: () => [
      ...asMarks(matrix.name, matrix.columns, cells),
      ...asMarks(other.name, other.columns, [...new Set(others)]),
    ],
    flights: () =>
      linked.flatMap(({ cell, others: partners }) =>
        partners.map((partner) => (isSource ? { cell, to: partner } : { cell: partner, to: cell })),
      ),
    lanes: cells.map((index) => matrix.lane?.[index] ?? -1),
    hold: HOLD.walk,
  };
}

// "r1 of lanes 12..15"
/** @param {Content} content @param {Matrix} matrix @param {number[]} cells @param {number} perRegister */
function placeInRegisters({ instruction: { transfer } }, matrix, cells, perRegister) {
  if (!transfer?.registers) return `${matrix.label}, ${extent(matrix, cells)},`;
  const { row, column } = cellOfIndex(matrix, cells[0]);
  const register =
    perRegister === 1
      ? (matrix.column_names?.[column] ?? `r${column}`)
      : `r${Math.floor(column / perRegister)}`;
  const last = Math.floor(cells[cells.length - 1] / matrix.columns);
  return `${register} of ${numbered(matrix.axes?.[0] ?? "lane", row, last)}`;
}
