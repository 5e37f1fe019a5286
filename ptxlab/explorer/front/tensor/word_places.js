// Where things are in tensor memory: cells to words and back, and the threads that tcgen05.ld gives them to.

import { memoize } from "../common/memoize.js";
import { typed } from "../common/numbers.js";

// of a CTA
export const LANES = 128;
export const WARP = 32;
const WORD_BITS = 32;
// what an instruction moves, and what it leaves
const BLOCKS = /** @type {TensorName[]} */ (["A", "D"]);

// Lane, column and lowest bit of every cell of a matrix.
/** @param {TensorPlace} info @param {number} rows @param {number} columns @returns {TensorPlaces} */
export function placesOf(info, rows, columns) {
  const [copy, row, column] = [info.copy, info.row, info.column].map((view) => typed(Int32Array, view));
  const size = rows * columns;
  const places = {
    lane: new Int16Array(size),
    column: new Int16Array(size),
    low: new Int16Array(size),
    copies: Array.from(
      { length: copy.length / 2 },
      (_, index) =>
        /** @type {[number, number]} */ ([copy[2 * index] - copy[0], copy[2 * index + 1] - copy[1]]),
    ),
    isPair: false,
    info,
  };
  for (let at = 0, r = 0; r < rows; r += 1)
    for (let c = 0; c < columns; c += 1, at += 1) {
      const bit = copy[1] + row[2 * r + 1] + column[2 * c + 1];
      places.lane[at] = copy[0] + row[2 * r] + column[2 * c];
      places.column[at] = bit >> 5;
      places.low[at] = bit & (WORD_BITS - 1);
    }
  places.isPair = [...places.lane, ...places.copies.map(([lane]) => lane)].some((lane) => lane >= LANES);
  return places;
}

// What a load reads, both ways; `at` has the element of each lane of a warp and column, or -1.
export const loadMap = memoize((/** @type {LoadData} */ load) => {
  const [lanes, columns] = [typed(Int16Array, load.lanes), typed(Int16Array, load.columns)];
  const wide = columns.reduce((most, column) => Math.max(most, column + 1), 1);
  const at = new Int32Array(WARP * wide).fill(-1);
  lanes.forEach((lane, index) => {
    at[lane * wide + columns[index]] = index;
  });
  return { lanes, columns, elements: load.registers * load.parts, at, wide };
});

// The thread and register that a load gives a word to; null if it does not read it.
/** @param {LoadData} load @param {number} lane @param {number} column */
export function slotOf(load, lane, column) {
  const { at, wide, elements } = loadMap(load);
  const index = column < wide ? at[(lane % WARP) * wide + column] : -1;
  if (index < 0) return null;
  const element = index % elements;
  return {
    thread: lane - (lane % WARP) + Math.floor(index / elements),
    register: Math.floor(element / load.parts),
    part: element % load.parts,
  };
}

// Of every cell: thread, register and lowest bit after a load; -1 where it is not loaded.
/** @param {TensorPlaces} place @param {LoadData} load */
export function threadsOf(place, load) {
  const size = place.lane.length;
  const lane = new Int16Array(size).fill(-1);
  const registerOf = new Int16Array(size).fill(-1);
  const low = new Int16Array(size);
  for (let index = 0; index < size; index += 1) {
    const slot = slotOf(load, place.lane[index], place.column[index]);
    if (!slot || (load.pack && place.low[index] >= 16)) continue;
    lane[index] = slot.thread;
    registerOf[index] = slot.register;
    low[index] = place.low[index] + 16 * slot.part;
  }
  return { lane, elementOf: registerOf, registerOf, low };
}

// The cells in every word, operand by operand.
export const slotsOf = memoize((/** @type {TensorInfo} */ tensor, /** @type {AnyMatrices} */ matrices) =>
  /** @type {[TensorName, TensorPlace][]} */ (Object.entries(tensor.places)).map(([name, info]) => {
    const matrix = matrices[matrixOf(matrices, name)];
    const parts = WORD_BITS / info.width;
    const cells = new Int32Array(tensor.ctas * LANES * info.columns * parts).fill(-1);
    const place = matrix?.place;
    for (const [lane, bit] of place?.copies ?? [])
      place?.lane.forEach((first, index) => {
        const bits = (place.column[index] - info.first) * WORD_BITS + place.low[index] + bit;
        cells[(first + lane) * info.columns * parts + Math.floor(bits / info.width)] = index;
      });
    return { name, info, parts, cells };
  }),
);

// The matrix that an operand holds: C where D is before the instruction, and compressed A of a sparse one.
/** @param {AnyMatrices} matrices @param {TensorName} name @returns {Name} */
export function matrixOf(matrices, name, before = false) {
  if (name === "D" && before) return "C";
  return name === "A" && matrices.stored ? "stored" : name;
}

// The elements in a word, the lowest bits first; `before` the instruction those of C, in the place of D.
/**
 * @param {TensorInfo} tensor
 * @param {AnyMatrices} matrices
 * @param {number} lane
 * @param {number} column
 * @param {boolean} before
 * @returns {TensorElement[]}
 */
export function elementsIn(tensor, matrices, lane, column, before) {
  const elements = /** @type {TensorElement[]} */ ([]);
  for (const { name, info, parts, cells } of slotsOf(tensor, matrices)) {
    const inside = column - info.first;
    if (inside < 0 || inside >= info.columns) continue;
    const shown = matrixOf(matrices, name, before);
    const matrix = matrices[shown];
    for (let part = 0; matrix && part < parts; part += 1) {
      const index = cells[(lane * info.columns + inside) * parts + part];
      if (index < 0) continue;
      const padding = (matrix.place?.low[index] ?? 0) % info.width;
      elements.push({ name: shown, index, low: part * info.width + padding, bits: matrix.bits });
    }
  }
  return elements;
}

// The 32 bits of a word as far as matrices fill them; null if it is free.
/** @param {AnyMatrices} matrices @param {TensorElement[]} elements */
export function wordNumber(matrices, elements) {
  if (!elements.length) return null;
  let number = 0;
  for (const { name, index, low } of elements) {
    const matrix = matrices[name];
    if (matrix) number += Number(matrix.codes[index]) * 2 ** low;
  }
  return number;
}

// Rows that are shown: all lanes, or as many as the longer of two grids of words has.
/** @param {TensorInfo} tensor */
export const rowsOf = ({ blocks }) => (blocks ? Math.max(...blocks.map(({ rows }) => rows)) : LANES);

// Columns of a CTA, or of one of two grids of words.
/** @param {TensorInfo} tensor @param {number} cta */
export const columnsOf = ({ blocks, columns }, cta) => blocks?.[cta].columns ?? columns;

// The operand at a column, if there is one.
/** @param {TensorInfo} tensor @param {number} column @param {number} lane @returns {TensorName | undefined} */
export function operandAt({ places, blocks }, column, lane) {
  if (blocks)
    return lane % LANES < blocks[Math.floor(lane / LANES)].rows
      ? BLOCKS[Math.floor(lane / LANES)]
      : undefined;
  const operand = /** @type {[TensorName, TensorPlace][]} */ (Object.entries(places)).find(
    ([, { first, columns }]) => column >= first && column < first + columns,
  );
  return operand?.[0];
}

/** @param {TensorInfo} tensor @param {number} lane @param {number} column */
export function wordName({ ctas, blocks }, lane, column) {
  if (blocks) {
    const { title, axes, names } = blocks[Math.floor(lane / LANES)];
    return `${title}: ${axes[0]} ${lane % LANES}, ${axes[1]} ${names[column] ?? column}`;
  }
  const cta = ctas > 1 ? `CTA ${Math.floor(lane / LANES)}, ` : "";
  return `${cta}lane ${lane % LANES}, column ${column}`;
}
