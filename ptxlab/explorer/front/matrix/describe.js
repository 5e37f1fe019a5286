// A cell, a row or a column in words: for the line below the registers, the tooltip, and screen readers.

import { hex, binary, bitRange, plural, typed } from "../common/numbers.js";
import { LANES } from "../tensor/word_places.js";
import { editText, holderOf, indexOfCell, lanesOf } from "./matrix.js";
import { transferFacts, linkedWords } from "../tensor/transfers.js";

// "4..7" and "36": consecutive numbers are joined; bits are counted from the highest down.
/** @param {number[]} numbers */
export function joinedRuns(numbers, step = 1) {
  const ranges = /** @type {[number, number][]} */ ([]);
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last && last[1] === number - step) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (last === first ? `${first}` : `${first}..${last}`));
}

/** @param {number[]} numbers */
const runs = (numbers, step = 1) => joinedRuns(numbers, step).join(", ");

// What holds an element: a lane is one of the 32 of a warp; those of a warpgroup are its threads, 0 to 127.
/** @param {{ lanes: number }} instruction */
export const holderNoun = ({ lanes }) => (lanes > 32 ? "thread" : "lane");

// "lanes 4..7"; those of a warpgroup are threads, and one of them has its warp and its lane, too.
/** @param {number[]} lanes @param {{ lanes: number }} instruction */
export function laneNames(lanes, instruction) {
  if (lanes.length === 1) return laneWords(lanes[0], instruction.lanes);
  return `${holderNoun(instruction)}s ${runs(lanes)}`;
}

/** @param {Matrix} matrix @param {number[]} lanes @param {InstructionInfo} instruction */
function heldBy(matrix, lanes, instruction) {
  if (!matrix.place) return `is held by ${laneNames(lanes, instruction)}`;
  if (!lanes.length) return "is not read by this tcgen05.ld";
  return `is loaded by ${plural(lanes.length, "thread")} ${runs(lanes)}`;
}

/** @param {Line} line @param {string} matrix the name of its matrix */
export const lineName = ({ row, column }, matrix) =>
  row === undefined ? `column ${column} of ${matrix}` : `row ${row} of ${matrix}`;

/** @param {Matrices} matrices @param {Line} line @param {InstructionInfo} instruction */
export function describeLine(matrices, line, instruction) {
  const matrix = matrices[line.name];
  const name = lineName(line, matrix.label);
  const lanes = lanesOf(matrices, line);
  if (line.name === "stored" && line.column !== undefined && lanes)
    return `${name} ${heldBy(matrix, lanes, instruction)}; ${chunkWords(matrices, line.column)}`;
  return lanes ? `${name} ${heldBy(matrix, lanes, instruction)}` : `${name}: ${matrix.note}`;
}

// What "ch0" above a column of compressed A means.
/** @param {Matrices} matrices @param {number} column */
function chunkWords({ A, E, stored }, column) {
  const [kept, size] = [stored, A].map(({ columns }) => columns / E.columns);
  const chunk = Math.floor(column / kept);
  const columns = span(chunk * size, (chunk + 1) * size - 1);
  return `ch${chunk} is chunk ${chunk}: columns ${columns} of A, of which its nibble keeps ${kept}`;
}

// "row 9 of A is in lanes 4..7": where the factors of a cell of D are.
/** @param {Matrices} matrices @param {Contribution} contribution @param {InstructionInfo} instruction */
export function describeContribution(matrices, { line, lanes }, instruction) {
  const { label, place } = matrices[line.name];
  const memory = place ? "tensor memory" : "shared memory";
  const where = lanes.length ? laneNames(lanes, instruction) : memory;
  return `${lineName(line, label)} is in ${where}`;
}

// Which of several products a cell belongs to.
/** @param {Matrix} matrix @param {Products} products @param {number} row @param {number} column */
function productOf({ rows, columns }, { along, count }, row, column) {
  return Math.floor((along === "rows" ? row / rows : column / columns) * count);
}

/** @param {InstructionInfo} instruction @param {number} product */
export const productNames = (instruction, product) => [
  `quad pair ${product}`,
  `lanes ${runs(instruction.lanes_of_product?.[product] ?? [])}`,
];

/** @param {number} first @param {number} last */
export const span = (first, last) => (last > first ? `${first}..${last}` : `${first}`);

/** @param {Int16Array} low @param {number} bits @param {number} at */
const bitsOf = (low, bits, at) => `${plural(bits, "bit")} ${bitRange(low[at], bits)}`;

/** @param {number} lane @param {number} lanes */
const laneWords = (lane, lanes) =>
  lanes > 32 ? `lane ${lane % 32} of warp ${Math.floor(lane / 32)} (thread ${lane})` : `lane ${lane}`;

// Where an element is: lane, element, register and bits; or its place in shared memory.
/** @param {Matrix} matrix @param {number} at @param {number} lanes of the instruction */
function place(matrix, at, lanes = 32) {
  if (matrix.byte) {
    const bit = matrix.low ? `, ${bitsOf(matrix.low, matrix.bits, at)}` : "";
    return [
      `in shared memory, byte ${matrix.byte[at]} (${hex(matrix.byte[at], 12)})${bit}`,
      `core matrix ${matrix.core[at]}, row ${matrix.line[at]}`,
      matrix.memory ?? "",
    ];
  }
  if (matrix.place) return tensorPlace(matrix, matrix.place, at);
  if (!matrix.lane) return [matrix.note];
  const byte = matrix.name.startsWith("SF") ? `, byte ${matrix.low[at] / 8}` : "";
  return [
    laneWords(matrix.lane[at], lanes),
    `element ${matrix.element}${matrix.elementOf[at]}`,
    `register ${matrix.registerOf[at]}, ${bitsOf(matrix.low, matrix.bits, at)}${byte}`,
  ];
}

// In tensor memory, and the register that holds it after tcgen05.ld.
/** @param {Matrix} matrix @param {TensorPlaces} place @param {number} at */
function tensorPlace(matrix, { lane, column, low, copies, isPair }, at) {
  const cta = isPair ? `CTA ${Math.floor(lane[at] / LANES)}, ` : "";
  const facts = [
    `tensor memory: ${cta}lane ${lane[at] % LANES}, column ${column[at]}, ${bitsOf(low, matrix.bits, at)}`,
  ];
  const others = copies.slice(1).map(([other]) => (lane[at] + other) % LANES);
  if (others.length) facts.push(`held ${copies.length} times: also in lanes ${runs([...new Set(others)])}`);
  if (!matrix.lane) return facts;
  return matrix.lane[at] < 0
    ? [...facts, "this tcgen05.ld does not read it"]
    : [...facts, `tcgen05.ld loads it into register ${matrix.registerOf[at]} of thread ${matrix.lane[at]}`];
}

// The nibble of a chunk of sparse A, and where it is.
/** @param {Matrices} matrices @param {number} row @param {number} chunk @param {InstructionInfo} instruction */
function nibbleOf({ E }, row, chunk, instruction) {
  const at = row * E.columns + chunk;
  return [
    `nibble 0b${binary(E.codes[at], 4)}`,
    E.lane
      ? `${laneNames([E.lane[at]], instruction)}, register ${E.registerOf[at]}, ${bitsOf(E.low, E.bits, at)}`
      : place(/** @type {Matrix} */ (E), at)[0],
  ];
}

// What a nibble keeps: columns of A.
/** @param {Matrices} matrices @param {number} row @param {number} chunk */
function kept({ E, stored }, row, chunk) {
  const perChunk = stored.columns / E.columns;
  const columns = Array.from(
    stored.counterpart.slice(
      row * stored.columns + chunk * perChunk,
      row * stored.columns + (chunk + 1) * perChunk,
    ),
  );
  return `keeps ${plural(columns.length, "column")} ${columns.join(", ")} of chunk ${chunk}`;
}

const KEPT_BY_NIBBLE = /** @type {Record<number, string>} */ ({
  4: "pairs",
  2: "columns",
  1: "16-bit halves",
});

// How a nibble is read: two bits name each of the two parts of its chunk that it keeps.
/** @param {Matrices} matrices @param {number} row @param {number} chunk */
function nibbleRule({ A, E, stored }, row, chunk) {
  const [size, kept] = [A, stored].map(({ columns }) => columns / E.columns);
  const bits = binary(E.codes[row * E.columns + chunk], 4);
  const fields = [bits.slice(0, 2), bits.slice(2)];
  const parts = fields.map((field) => Number.parseInt(field, 2));
  const columns = parts.map((part) => {
    const first = chunk * size + Math.floor((part * size) / 4);
    return size === 8 ? `${first}, ${first + 1}` : `${first}`;
  });
  const words = [...new Set(columns)];
  const where = `${plural(words.length > 1 || size === 8 ? 2 : 1, "column")} ${words.join(" and ")}`;
  return `${fields.join("|")}: ${KEPT_BY_NIBBLE[kept]} ${parts.join(" and ")} of chunk ${chunk}, ${where}`;
}

// The scale factor of a cell, or the cells of a scale factor.
/** @param {AnyMatrices} matrices @param {Name} name @param {number} row @param {number} column */
function scaled({ A, B, SFA, SFB }, name, row, column) {
  if (!SFA) return [];
  const long = A.columns / SFA.columns;
  /** @param {number} block */
  const range = (block) => span(block * long, (block + 1) * long - 1);
  /** @param {Matrix} scale @param {number} r @param {number} c */
  const factor = (scale, r, c) =>
    `scaled by ${scale.label}[${r}][${c}] = ${editText(scale, r * scale.columns + c)}`;
  if (name === "A") return [factor(SFA, row, Math.floor(column / long))];
  if (name === "B") return [factor(SFB, Math.floor(row / long), column)];
  if (name === "SFA") return [`scales ${A.label}[${row}][${range(column)}]`];
  return name === "SFB" ? [`scales ${B.label}[${range(row)}][${column}]`] : [];
}

// What the masks of tcgen05.mma do to a cell.
/** @param {InstructionInfo} instruction @param {Matrix} matrix @param {number} index @param {number} column */
function masked(instruction, { name, place }, index, column) {
  const { disabled_lanes: lanes, zero_columns: zeros, column_shift: shift = 0 } = instruction;
  if (name === "D" && place && lanes?.includes(place.lane[index]))
    return ["disable-output-lane: it keeps what D held before"];
  if (name !== "B" && name !== "D") return [];
  if (!zeros?.includes(name === "B" ? column - shift : column)) return [];
  return [name === "B" ? "zero-column mask: treated as 0" : "zero-column mask: A times 0"];
}

// What two chips give for a cell, and how far apart that is.
/** @param {Matrix & Compared} matrix @param {number} index */
function differenceFacts(matrix, index) {
  const { bits, codes, otherCodes, otherValues, values, chips } = matrix;
  /** @param {Codes} of @param {Values} from @param {string} chip */
  const side = (of, from, chip) =>
    `${chip}: ${editText({ ...matrix, values: from }, index)} = ${hex(of[index], bits)}`;
  const facts = [side(codes, values, chips[0]), side(otherCodes, otherValues, chips[1])];
  const [one, other] = [codes[index], otherCodes[index]].map(BigInt);
  const apart = Number(one > other ? one - other : other - one);
  const isNear = Math.sign(values[index]) === Math.sign(otherValues[index]) && apart < 1e6;
  if (matrix.kind === "float" && isNear)
    facts.push(`${apart} ${plural(apart, "unit")} in the last place apart`);
  const differing = [...Array(bits).keys()].reverse().filter((bit) => (one ^ other) & (1n << BigInt(bit)));
  facts.push(`they differ in ${plural(differing.length, "bit")} ${runs(differing, -1)}`);
  return facts;
}

// A cell in words: its value, the place that holds it, its code, and what is related to it.
/**
 * @param {Matrices} matrices
 * @param {InstructionInfo} instruction
 * @param {Cell} cell
 * @param {(name: Name, at: number) => string[] | null} inMemory where the memory view has it, if it shows it
 * @returns {string[]}
 */
export function cellFacts(matrices, instruction, { name, row, column }, inMemory = () => null) {
  if (instruction.transfer) return transferFacts(matrices, instruction, { name, row, column });
  const matrix = matrices[name];
  const index = indexOfCell(matrix, { row, column });
  const parts = [`${matrix.label}[${row}][${column}] = ${editText(matrix, index)}`];
  const [holder, at] = holderOf(matrices, matrix, index);
  const sparse = name === "A" && matrix.counterpart;
  const chunk = matrices.E && Math.floor((column * matrices.E.columns) / matrix.columns);
  if (at < 0) {
    const [nibble, where] = nibbleOf(matrices, row, chunk, instruction);
    return [
      ...parts,
      `not stored: ${nibble} keeps other columns of chunk ${chunk}`,
      `the nibble is in ${where}`,
      ...scaled(matrices, name, row, column),
    ];
  }
  if (sparse) parts.push(`compressed at [${row}][${at % holder.columns}]`);
  if (name === "stored") parts.push(`is A[${row}][${matrices.stored.counterpart[index]}]`);
  if (name === "E") parts.push(kept(matrices, row, column), nibbleRule(matrices, row, column));
  const shown = inMemory(holder.name, at);
  parts.push(...(shown && holder.byte ? shown : place(holder, at, instruction.lanes)));
  if (matrix.unknown) parts.splice(1, 0, matrix.unknown);
  else if (matrix.whole) parts.splice(1, 0, "exact so far");
  else if (name !== "E" && !matrix.differ?.[index]) parts.push(`code ${hex(holder.codes[at], holder.bits)}`);
  parts.push(...masked(instruction, matrix, index, column));
  parts.push(...scaled(matrices, name, row, column));
  if (sparse || name === "stored") parts.push(nibbleOf(matrices, row, chunk, instruction).join(" in "));
  if (matrix.products)
    parts.push(productNames(instruction, productOf(matrix, matrix.products, row, column)).join(", "));
  else if ((holder.lane ?? holder.place) && holder.note) parts.push(holder.note);
  if (shown && !holder.byte) parts.push(...shown);
  if (matrix.differ?.[index]) parts.splice(1, 0, ...differenceFacts(matrix, index));
  return parts;
}

// Cells related to the one under the pointer: the factors of a cell
// of D, both forms of a sparse A, the block of a scale factor.

/**
 * @param {AnyMatrices} matrices
 * @param {InstructionInfo} instruction
 * @param {Hovered | null} hit
 * @returns {Mark[]}
 */
export function relatedCells(matrices, instruction, hit) {
  if (!hit?.name || !matrices[hit.name]) return [];
  if (instruction.transfer) return linkedWords(/** @type {Matrices} */ (matrices), hit);
  if (hit.name === "D" || hit.name === "C") return factors(matrices, instruction, hit);
  return [
    ...(matrices.E ? sparseForms(matrices, instruction, hit) : []),
    ...(matrices.SFA ? blocks(matrices, hit) : []),
  ];
}

// The row of A and the column of B, with their scale factors.
/** @param {AnyMatrices} matrices @param {InstructionInfo} instruction @param {Cell} cell @returns {Mark[]} */
function factors({ D, SFA, SFB }, { k, column_of_b }, { row, column }) {
  const columnOfB = column_of_b ? typed(Int16Array, column_of_b)[row * D.columns + column] : column;
  /** @type {Mark[]} */
  const marks = [
    { name: "A", row, column: 0, column2: k - 1 },
    { name: "B", row: 0, row2: k - 1, column: columnOfB },
  ];
  if (!SFA) return marks;
  return [
    ...marks,
    { name: "SFA", row, column: 0, column2: SFA.columns - 1 },
    { name: "SFB", row: 0, row2: SFB.rows - 1, column: columnOfB },
  ];
}

// The lanes that contribute to a cell of D: those that hold its row of A and its column of B.
// None where those are in shared memory.
/** @param {Matrices} matrices @param {InstructionInfo} instruction @param {Cell} cell @returns {Contribution[]} */
export function contributionsTo(matrices, instruction, cell) {
  const marks = factors(/** @type {AnyMatrices} */ (matrices), instruction, cell);
  return marks
    .filter(({ name }) => name === "A" || name === "B")
    .map(({ name, row, column, row2 }) => {
      /** @type {Line} */
      const line = row2 === undefined ? { name, row } : { name, column };
      return { line, lanes: lanesOf(matrices, line) ?? [] };
    });
}

// A cell of dense A, its stored cell and the nibble of its chunk: from each to the others.
/**
 * @param {AnyMatrices & { stored: Stored }} matrices
 * @param {InstructionInfo} instruction
 * @param {Cell} cell
 * @returns {Mark[]}
 */
function sparseForms({ A, stored }, instruction, { name, row, column }) {
  if (!["A", "stored", "E"].includes(name)) return [];
  const dense =
    name === "A" ? column : name === "stored" ? stored.counterpart[row * stored.columns + column] : null;
  const chunk = dense === null ? column : Math.floor(dense / instruction.chunk);
  /** @type {Mark} */
  const whole = {
    name: "A",
    row,
    column: chunk * instruction.chunk,
    column2: (chunk + 1) * instruction.chunk - 1,
  };
  /** @type {Mark[]} */
  const marks = [whole, { name: "E", row, column: chunk }];
  if (dense === null)
    return [
      ...marks,
      { name: "stored", row, column: chunk * instruction.kept, column2: (chunk + 1) * instruction.kept - 1 },
    ];
  const index = A.counterpart ? A.counterpart[row * A.columns + dense] : -1;
  if (name === "stored") marks.push({ name: "A", row, column: dense });
  else if (index >= 0) marks.push({ name: "stored", row, column: index % stored.columns });
  return marks;
}

// A scale factor and the block that it scales: along a row of A, down a column of B.
/** @param {AnyMatrices & { SFA: Matrix }} matrices @param {Cell} cell @returns {Mark[]} */
function blocks({ A, SFA, stored }, { name, row, column }) {
  const long = A.columns / SFA.columns;
  const dense = name === "stored" && stored ? stored.counterpart[row * stored.columns + column] : column;
  if (["A", "stored", "SFA"].includes(name)) {
    const block = name === "SFA" ? column : Math.floor(dense / long);
    return [
      { name: "A", row, column: block * long, column2: (block + 1) * long - 1 },
      { name: "SFA", row, column: block },
    ];
  }
  if (name !== "B" && name !== "SFB") return [];
  const block = name === "SFB" ? row : Math.floor(row / long);
  return [
    { name: "B", row: block * long, row2: (block + 1) * long - 1, column },
    { name: "SFB", row: block, column },
  ];
}
