// A matrix in shared memory: which byte holds which cell. Places and wavefronts come from Python; what is in
// the bytes follows from the codes of the matrix, so that an edit sends nothing about memory.

import { typed, hex } from "./util.js";

export const LINE = 128; // bytes of all banks
export const WORD = 4; // bytes of a bank

/** @type {WeakMap<object, MemoryMap>} */
const memoryMaps = new WeakMap();

// Computed once for each message from Python.
/** @param {MemoryData} data @returns {MemoryMap} */
export function memoryMap(data) {
  const cached = memoryMaps.get(data);
  if (cached) return cached;
  const byte = typed(Int32Array, data.byte);
  const low = typed(Int8Array, data.low);
  const wavefront = typed(Int16Array, data.wavefront);
  const unit = Math.max(1, data.bits / 8);
  const cellAt = new Int32Array(data.size).fill(-1);
  // from the last on, so that of several cells in a byte the lowest is found first
  for (let index = byte.length - 1; index >= 0; index -= 1)
    for (let each = 0; each < unit; each += 1) {
      const at = byte[index] + each;
      if (cellAt[at] < 0 || !low || low[index] < low[cellAt[at]]) cellAt[at] = index;
    }
  const supplier = new Map(data.suppliers.map(([address, lane, matrix]) => [address, { lane, matrix }]));
  const map = {
    byte,
    low,
    wavefront,
    unit,
    cellAt,
    supplier,
    perByte: Math.max(1, Math.floor(8 / data.bits)),
  };
  memoryMaps.set(data, map);
  return map;
}

// The cells in some bytes, in the order of their addresses.
/** @param {MemoryMap} map @param {MemoryData} data @param {Matrix} matrix @param {number} address @param {number} size */
export function cellsIn(map, data, matrix, address, size) {
  const cells = /** @type {number[]} */ ([]);
  for (let at = address; at < address + size; at += 1) {
    const first = map.cellAt[at];
    if (first < 0 || cells.at(-1) === first) continue;
    const step = data.major === "row" ? 1 : matrix.columns;
    for (let each = 0; each < map.perByte; each += 1) cells.push(first + each * step);
  }
  return cells;
}

// The number in some bytes; null where there is no cell.
/** @param {MemoryMap} map @param {MemoryData} data @param {Matrix} matrix @param {number} address @param {number} size */
export function numberAt(map, data, matrix, address, size) {
  let number = 0n;
  const cells = cellsIn(map, data, matrix, address, size);
  for (const index of cells) {
    const shift = BigInt((map.byte[index] - address) * 8 + (map.low?.[index] ?? 0));
    const code = BigInt(matrix.codes[index]);
    number |= shift >= 0n ? code << shift : code >> -shift;
  }
  return cells.length ? BigInt.asUintN(8 * size, number) : null;
}

/** @param {number} address */
export const bankOf = (address) => Math.floor((address % LINE) / WORD);

/** @param {number} address */
export const byteName = (address) => `byte ${hex(address, 12)}, bank ${bankOf(address)}`;

// Where a cell is in memory, and when it is moved.
/** @param {MemoryData} data @param {number} index */
export function memoryFacts(data, index) {
  const map = memoryMap(data);
  const address = map.byte[index];
  const bit = map.low && map.perByte > 1 ? `, bit ${map.low[index]}` : "";
  const facts = [
    `${byteName(address)}${bit} of shared memory`,
    `wavefront ${map.wavefront[index] + 1} of ${data.wavefronts}`,
  ];
  const supplier = map.supplier.get(address - (address % 16));
  if (supplier)
    facts.push(`in a row of matrix ${supplier.matrix}, whose address lane ${supplier.lane} supplies`);
  return facts;
}

// Cells as few rectangles: runs of a row, joined where rows below have the same.
/** @param {Name} name @param {number} columns @param {number[]} cells @returns {Mark[]} */
export function asMarks(name, columns, cells) {
  const marks = /** @type {Required<Mark>[]} */ ([]);
  const runs = /** @type {Required<Mark>[]} */ ([]);
  for (const index of [...cells].sort((first, second) => first - second)) {
    const [row, column] = [Math.floor(index / columns), index % columns];
    const last = runs.at(-1);
    if (last && last.row === row && last.column2 === column - 1) last.column2 = column;
    else runs.push({ name, row, column, row2: row, column2: column });
  }
  for (const run of runs) {
    const above = marks.find(
      (mark) => mark.row2 === run.row - 1 && mark.column === run.column && mark.column2 === run.column2,
    );
    if (above) above.row2 = run.row;
    else marks.push(run);
  }
  return marks;
}
