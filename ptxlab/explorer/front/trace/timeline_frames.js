// The instruction as a list of frames: operands in registers or shared memory, sums along K, and D. Cells and lanes
// come from the maps of the matrices, sums from Python.

import { memoize } from "../common/memoize.js";
import { hex } from "../common/numbers.js";
import { holderNoun, joinedRuns, span } from "../matrix/describe.js";
import { cellOfIndex, isZero } from "../matrix/matrix.js";
import { asMarks } from "../memory/byte_map.js";
import { linkedWords } from "../tensor/transfers.js";

// At most so many frames: of an operand that goes into registers; of core matrices, and of steps along K where no
// cell of D is selected; of words between memory and registers.
const MAX_FRAMES = 8;
const MAX_WALKED = 16;
const MAX_MOVES = 64;
const WARP_LANES = 32;
const QUAD = 4; // lanes that hold a row of a matrix
// Milliseconds for which a frame stays. The steps of a sum take SUM_TIME together if that leaves QUICKEST for each.
const HOLD = { load: 2000, walk: 900, wavefront: 1200, sum: 1600, round: 3200, out: 1600 };
const QUICKEST = 450;
const SUM_TIME = 26_000;
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
  for (const part of parts) for (const frame of part.frames) frame.isBefore = !trace;
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

// Of the selected cell of D, term by term; of all cells, along K, if none is selected.
/** @param {Content} content @param {Trace | null} trace @returns {TimelinePart[]} */
function sums(content, trace) {
  const { D } = content.matrices;
  if (D.unknown) return [];
  if (!trace?.dot_product) return [{ name: "along K", about: ALONG_K, frames: alongK(content) }];
  const { steps } = trace.dot_product;
  const cell = `D[${trace.row}][${trace.column}]`;
  const hold = Math.max(QUICKEST, Math.min(HOLD.sum, SUM_TIME / steps.length));
  const frames = steps.map((step) => ({
    text: () => step.text,
    operation: step.operation,
    step,
    marks: () => sumMarks(content, trace, step),
    flights: () => factorFlights(content, trace, step),
    hold: ["round", "align"].includes(step.role) ? HOLD.round : hold,
  }));
  const about = `The terms of ${cell} are added`;
  const terms = frames.slice(0, -1);
  const rounding = { name: "round", about: "The sum is rounded to the type of D", frames: frames.slice(-1) };
  const parting = steps.findIndex(({ parts }) => parts);
  if (parting < 0 || parting >= terms.length)
    return [{ name: `sum of ${cell}`, about, frames: terms, isSum: true }, rounding];
  return [
    { name: `sum of ${cell}`, about, frames: terms.slice(0, parting), isSum: true },
    { name: "chips part", about: "The two chips part", frames: [terms[parting]], isSum: true },
    { name: "sum goes on", about, frames: terms.slice(parting + 1), isSum: true },
    rounding,
  ];
}

/** @param {Content} content @returns {Frame[]} */
function alongK({ instruction: { k, m, n, mma_count: count }, matrices }) {
  const { A, B, D, stored } = matrices;
  const perFrame = Math.ceil(k / MAX_WALKED);
  const products = `${m} × ${n}${count > 1 ? ` × ${count}` : ""}`;
  return Array.from({ length: Math.ceil(k / perFrame) }, (_, index) => {
    const [first, last] = [index * perFrame, Math.min(k, (index + 1) * perFrame) - 1];
    const dense = first === last ? "a column of A times a row of B" : "columns of A times rows of B";
    const what = stored
      ? "each row of A has its nibbles, which choose the rows of B that its stored elements meet"
      : `${dense}, ${products} products for each k`;
    return {
      text: () => `k = ${span(first, last)}: ${what}; select a cell of D to follow its sum`,
      marks: () => [
        { name: "A", row: 0, row2: A.rows - 1, column: first, column2: last },
        { name: "B", row: first, row2: last, column: 0, column2: B.columns - 1 },
        { name: "D", row: 0, row2: D.rows - 1, column: 0, column2: D.columns - 1 },
      ],
      isBefore: true,
      hold: HOLD.walk,
    };
  });
}

// The cells of a step: of A and B with their scale factors, compressed cells and nibbles of sparse A, C, or the
// cell of D itself.
/** @param {Content} content @param {Trace} trace @param {SumStep} step @returns {Mark[]} */
function sumMarks(content, { row, column, dot_product: dotProduct }, { role, k }) {
  /** @type {Mark} */
  const cell = { name: "D", row, column };
  if (role === "C") return [{ name: "C", row, column }, cell];
  if (!k || !dotProduct) return [cell];
  const [first, last] = k;
  const columnOfB = dotProduct.column_of_b;
  /** @type {Mark[]} */
  const marks = [
    { name: "A", row, column: first, column2: last },
    { name: "B", row: first, row2: last, column: columnOfB },
    cell,
  ];
  /** @type {AnyMatrices} */
  const { A, SFA, stored } = content.matrices;
  if (SFA) {
    const block = Math.floor((first * SFA.columns) / A.columns);
    marks.push({ name: "SFA", row, column: block }, { name: "SFB", row: block, column: columnOfB });
  }
  if (!stored) return marks;
  const columns = [];
  for (let column = first; column <= last; column += 1)
    if (A.counterpart && A.counterpart[row * A.columns + column] >= 0)
      columns.push(A.counterpart[row * A.columns + column] % stored.columns);
  /** @param {number} column */
  const chunk = (column) => Math.floor(column / content.instruction.chunk);
  return [
    ...marks,
    { name: "stored", row, column: Math.min(...columns), column2: Math.max(...columns) },
    { name: "E", row, column: chunk(first), column2: chunk(last) },
  ];
}

// Factors meet in D; the nibble of a sparse element flies to the element of A that it says.
/** @param {Content} content @param {Trace} trace @param {SumStep} step @returns {TileFlight[]} */
function factorFlights(content, trace, step) {
  const to = { name: /** @type {Name} */ ("D"), row: trace.row, column: trace.column };
  return sumMarks(content, trace, step)
    .filter(({ name }) => name !== "D")
    .map((mark) =>
      mark.name === "E" && step.k
        ? { cell: mark, to: { name: "A", row: mark.row, column: step.k[0] } }
        : { cell: mark, to },
    );
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
