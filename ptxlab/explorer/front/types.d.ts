// What travels between Python and the page, and what the modules hand each other: for the type checker and for readers. Nothing loads this file.

type App = import("./app.js").App;
type Bar = import("./bar.js").Bar;
type Head = import("./head.js").Head;
type Pane = import("./pane.js").Pane;
type Picker = import("./picker.js").Picker;

// -- the model --

/** A dict of Python, which is empty where there is nothing to say. */
type Sent<T> = T | { [key in keyof T]?: undefined };

type Name = "A" | "stored" | "B" | "C" | "D" | "E" | "SFA" | "SFB";
type Label = "value" | "hex" | "binary" | "lane";

/** The traits of the view: view.py. */
interface Traits extends Record<Name, Sent<SentMatrix>> {
  about: Sent<About>;
  held: Record<number, Registers>;
  lane: number;
  pinned: number[];
  selected: Sent<Cell>;
  colour_by: "lane" | "register" | "warp" | "value" | "nothing";
  label: Label;
  show_c: boolean;
  zoom: number;
  problem: string;
  offer: Sent<Offer>;
  note: string;
  tools: Sent<Tools>;
  catalogue: Sent<Catalogue> | undefined;
  tracing: boolean;
  trace: Sent<Trace>;
  hint: string | undefined;
}

/** Of anywidget's model what is used; a saved page has its own. */
interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  set<K extends keyof Traits>(name: K, value: Traits[K]): void;
  on(event: string, call: Listener["call"]): void;
  off(event?: string, call?: Listener["call"]): void;
  send(message: Message): void;
  save_changes(): void;
}

/** Of "msg:custom" the message matters, of changes nothing. */
type Listener = { event: string; call: (message: Handed) => void };

/** What the page asks of Python: live.py. */
type Message =
  | { do: "undo" | "redo" | "prune" | "drop" | "catalogue" | "gpu" | "whole" }
  | ({ do: "paste"; text: string } & Mark)
  | ({ do: "clear" } & Required<Mark>)
  | ({ do: "extend"; series: boolean } & Required<Mark> & Corner)
  | { do: "set_register"; name: Name; lane: number; register: number; text: string }
  | { do: "flip"; name: Name; lane: number; register: number; bit: number }
  | ({ do: "fill"; how: string } & Cell)
  | { do: "option"; name: string; place: number }
  | { do: "chips"; chip: string; against: string }
  | { do: "choose"; mnemonic: string; space: Space }
  | { do: "export"; what: string };

/** What Python answers when it is asked for a text or a page. */
type Handed = { export?: string; text?: string; name?: string };

/** How to make what is large from what was there: by index, or by name. */
type Change = { at: DataView | number[]; to: any; parts?: undefined } | { at?: undefined; to?: undefined; parts: Record<string, Change | { new: unknown }> };

// -- cells --

type Cell = { name: Name; row: number; column: number };
/** One cell, or the cells up to another corner. */
type Mark = Cell & { row2?: number; column2?: number };
type CellRange = { name: Name; top: number; left: number; bottom: number; right: number };
/** Where the fill handle was dragged to. */
type Corner = { to_row: number; to_column: number };
type Filling = { to: Corner | null; other: boolean };
/** A whole row, or a whole column. */
type Line = { name: Name; row: number; column?: undefined } | { name: Name; row?: undefined; column: number };
/** What is under the pointer: a cell, or a lane. */
type Hovered = (Cell & { lane?: undefined }) | { lane: number; name?: undefined };
type Place = { x: number; y: number; width: number; height: number };

// -- an instruction and its matrices: wire.py --

type Colour = [background: string, text: string];

interface About {
  mnemonic: string;
  m: number;
  n: number;
  k: number;
  lanes: number;
  products: number;
  chunk: number;
  kept: number;
  blocks: number;
  column_of_b?: DataView;
  lanes_of?: number[][];
  matrices: Partial<Record<Name, MatrixInfo>>;
  registers: Partial<Record<Name, number>>;
  colours: { light: Colour[]; dark: Colour[] };
}

/** Several products that are stacked. */
type Products = { count: number; along: "rows" | "columns" };

interface Basics {
  label: string;
  rows: number;
  columns: number;
  type: string;
  kind: "int" | "float" | "bits";
  bits: number;
  element: string;
  operand: Name;
  editable: boolean;
  parts: [role: string, bits: number][];
  note: string;
  products?: Products;
  memory?: string;
}

type MatrixInfo = Basics & { [map in "lane" | "element_map" | "register_map" | "low" | "byte" | "core" | "line"]?: DataView };

interface SentMatrix {
  values: DataView;
  codes: DataView;
  home?: DataView;
  other_values?: DataView;
  other_codes?: DataView;
  by?: string[];
  differ?: DataView;
  count?: number;
}

type Values = Int32Array | Float32Array | Float64Array;
type Codes = Uint32Array | BigUint64Array;
type ArrayKind<T> = new (buffer: ArrayBufferLike) => T;

/** Where each cell is: in a lane, in shared memory, or nowhere (dense A of a sparse instruction). */
type InLanes = { lane: Int16Array; elementOf: Int16Array; registerOf: Int16Array; low: Int16Array; byte: null; core: null; line: null };
type InMemory = { lane: null; elementOf: null; registerOf: null; low: Int16Array | null; byte: Int16Array; core: Int16Array; line: Int16Array };
type Nowhere = { lane: null; elementOf: null; registerOf: null; low: null; byte: null; core: null; line: null };
type Maps = (InLanes | InMemory | Nowhere) & { byLane?: number[][] };

/** D of two, and where they differ; or of one. */
type Compared = { differ: Uint8Array; by: string[]; count: number; otherValues: Values; otherCodes: Codes };
type Alone = { differ: null; by?: undefined; count?: undefined; otherValues: null; otherCodes: null };

interface Content {
  name: Name;
  info: MatrixInfo;
  sent: SentMatrix;
  values: Values;
  codes: Codes;
  home: Int32Array | null; // of sparse A: where each cell of one side is on the other
  largest?: number;
  differing?: number[];
}

type Matrix = Basics & Content & Maps & (Compared | Alone);
type Stored = Matrix & { home: Int32Array };
type Nibbles = Matrix & InLanes;

/** By name. Only matrices that the instruction has are asked for; who asks which it has, asks `Given`. */
interface Matrices extends Record<Name, Matrix> { stored: Stored; E: Nibbles }
type Given = { A: Matrix; B: Matrix; C: Matrix; D: Matrix } & ({ stored: Stored; E: Nibbles } | { stored: null; E: null }) & ({ SFA: Matrix; SFB: Matrix } | { SFA: null; SFB: null });

/** An element in a register of a lane: bench.py. */
type Field = { element: number; row: number; column: number; low: number; bits: string; text: string };
type Register = { hex: string; fields: Field[] };
/** By operand, of those that the instruction has. */
type Registers = Record<Name, Register[]>;
/** The registers of an operand that are shown. */
type Block = { name: Name; count: number; page: number; from: number; to: number };
/** What is fixed of a register that is shown: how many elements it has, and whether it stands beside those of other lanes. */
type RegisterInfo = { name: Name; register: number; matrix: Matrix; count: number; small: boolean };

// -- how a pane is laid out --

/** Where indices are, in pixels: every `per` of them begin a new period. */
type Along = { per: number; period: number; offset: number; size: number };
interface Layer {
  name: Name;
  per: number;
  period: number;
  offset: number;
  width: number;
  down: Along;
  wide?: number;
  shift?: (row: number) => number;
  digits?: boolean;
}
/** Rows that are not in parts need no saying. */
type Plan = Omit<Layer, "down"> & { down?: Along };
/** What the parts of a matrix take beside its cells. */
type Extra = { tag: number; alongA: number; downB: number; between: number };
type Axis = "m" | "n" | "kx" | "ky";
type Ink = { text: string; faint: string; paper: string; brand: string; bad: string; plain: string; mono: string };
type Painter = (index: number) => Colour;
type LabelSize = { letters: number; lines: number };

type DrawCell = (row: number, column: number, index: number, x: number, y: number, width: number) => void;

// -- the bar: tools.py --

type Choice<T> = [text: string, value: T];
type Look = { said: string; hint: string } & (
  | { trait: "label" | "colour_by"; options: Choice<Label | Traits["colour_by"]>[]; range?: undefined }
  | { trait: "zoom"; options?: undefined; range: { min: number; max: number; step: number } }
  | { trait: "show_c"; options?: undefined; range?: undefined }
);

interface Tools {
  looks: Look[];
  chips: Choice<string>[];
  chip: string;
  against: string;
  fills: { [name in Name]?: string[] };
  options: { name: string; said: string; options: Choice<number>[]; value: number }[];
  undo: boolean;
  redo: boolean;
  gpu: { there: boolean; says: string; busy: boolean };
  still?: boolean;
}

/** What was refused: refused.py. */
interface Offer {
  name: Name;
  sentence: string;
  spots: [row: number, first: number, last: number][];
  text: string;
  cell: number[];
  prune: string;
  then: string;
}

// -- why a cell of D has its bits: walk.py and wire.py --

type Stop = [first: number, last: number, step: string, text: string] | [first: null, last: null, step: string, text: string];
type Walk = { other: number; about: string; stops: Stop[] };

interface Grid {
  title: string;
  size: [rows: number, columns: number];
  axes: [string, string];
  rows: [start: number, text: string][];
  columns: [start: number, size: number, text: string][];
  cells: [row: number, column: number, width: number, text: string, classes: string, hover: string][];
  row_rules: number[];
  column_rules: [column: number, first: number, stop: number][];
}

type Picture = { title: string; notes: string[]; grids: Grid[] };
type Trace = { row: number; column: number; walk?: Walk } & Sent<Picture>;

// -- the picker: shelf.py --

type Space = "register" | "shared";
type Form = [mnemonic: string, family: number, shape: number, types: number, qualifiers: number, among: number, ns: number, words: number, shared: number, lanes: number];

interface Catalogue {
  count: number;
  families: string[];
  shapes: string[];
  types: string[];
  qualifiers: string[];
  targets: [target: string, architecture: string, machines: string[]][];
  among: [said: string, targets: number[]][];
  ns: number[][];
  words: string[][];
  stands: Record<string, string[]>;
  forms: Form[];
}

/** An instruction of the catalogue: the places of its family, shape, types and qualifiers. */
type Item = { form: number; n: number; many: boolean; mnemonic: string; at: number[]; among: number; words: number; shared: boolean; lanes: number };
/** What is chosen in the picker; null for all. */
type Choices = { at: (number | null)[]; target: number | null; n: number | null };
/** A word that was looked for, and how it was understood. */
type Sought = { word: string; level: number; known: string[]; fits: Set<number> };
type Match = { item: Item; items: Item[]; like?: number };
/** An option of a list. */
type Said<T> = { value: T; text: string; more?: string; count: number; chosen: boolean; present: boolean };

type OptionNode<T> = Said<T> & { node: HTMLElement; number: HTMLElement };

// -- a saved page: still.py --

/** Of all lanes at once: [lane][register], and of elements [lane][register][element]. */
type Columns = { count: number; own: Record<string, string[][]>; fields: Record<string, (string | number)[][][]> };
interface Saved {
  notes: string[];
  code: string;
  state: Traits;
  lanes: { [operand in Name]?: Columns };
  reasons: Sent<Trace>[];
  refusal: string;
  others: string;
}
