// What travels between Python and the page, and what the modules hand each other: for the type checker and
// for readers. Nothing loads this file.

type App = import("./app.js").App;
type CellSelection = import("./matrix/selection.js").Selection;
type Content = import("./matrix/content.js").Content;
type Header = import("./toolbar/header.js").Header;
type MemoryView = import("./memory/memory_view.js").MemoryView;
type Panel = import("./registers/registers_panel.js").Panel;
type Pane = import("./pane/pane.js").Pane;
type Picker = import("./picker/picker.js").Picker;
type QuizState = import("./quiz/quiz_state.js").QuizState;
type Scene = import("./pane/scene.js").Scene;
type Theme = import("./matrix/colours.js").Theme;
type Timeline = import("./trace/timeline.js").Timeline;
type TensorView = import("./tensor/tensor_view.js").TensorView;

// -- the model --

/** A dict of Python, which is empty where there is nothing to show. */
type Sent<T> = T | { [key in keyof T]?: undefined };

type Name = "A" | "stored" | "B" | "C" | "D" | "E" | "SFA" | "SFB";
type Label = "value" | "hex" | "binary" | "lane";

/** The traits of the view: view.py. */
interface Traits extends Record<Name, Sent<SentMatrix>> {
  /** The module with the Explorer, of a widget. */
  _explorer: string;
  instruction: Sent<InstructionInfo>;
  lane_registers: Record<number, Registers>;
  lane: number;
  pinned: number[];
  selected: Sent<Cell>;
  colour_by: "lane" | "register" | "warp" | "core matrix" | "bank" | "value" | "nothing";
  label: Label;
  show_c: boolean;
  zoom: number;
  /** Of the whole Explorer, in pixels; 0 for that of the view. */
  height: number;
  problem: string;
  refusal: Sent<Refusal>;
  notice: string;
  toolbar: Sent<ToolbarData>;
  /** Groups of the menu that the author of a notebook wants to stand on the bar. */
  tools: string[] | undefined;
  picker_index: Sent<PickerIndex> | undefined;
  /** What was typed where an instruction was asked for, and what it may mean. */
  candidates: Sent<{ typed: string; mnemonics: string[] }> | undefined;
  tracing: boolean;
  /** Where the timeline stands; 0 while nothing is shown. */
  step: number;
  trace: Sent<Trace>;
  memory: Sent<MemoryData>;
  load: Sent<LoadData>;
  quiz: Sent<QuizData>;
  hint: string | undefined;
}

/** The part of anywidget's model that is used; a static page has its own. */
interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  set<K extends keyof Traits>(name: K, value: Traits[K]): void;
  on(event: string, call: Listener["call"]): void;
  off(event?: string, call?: Listener["call"]): void;
  send(message: Message): void;
  save_changes(): void;
}

/** Events are "msg:custom", with a message, and changes of traits, without one. */
type Listener = { event: string; call: (message: ExportAnswer) => void };

/** The answer to an `export` message, or to `find_difference` when the search is over. */
type ExportAnswer = { export?: string; text?: string; name?: string; searched?: boolean };

/** How to make a large trait from its earlier value: by index, or by name. */
type Change =
  | { at: DataView | number[]; to: any; parts?: undefined }
  | { at?: undefined; to?: undefined; parts: Record<string, Change | { new: unknown }> };

// -- cells --

/** The field that a message comes from; how it shows that its text was refused, and that this is over. */
type MessageOrigin = { node: Element; markInvalid?: (id: string) => void; clearInvalid?: () => void };

/** What a text box does with its text, which was typed for a target: a lane, a cell, a field. */
type TextBoxOptions<T> = {
  classes: string;
  readOnly?: boolean;
  send: (text: string, target: T, origin: MessageOrigin) => void;
};

type Cell = { name: Name; row: number; column: number };
/** One cell, or the cells up to another corner. */
type Mark = Cell & { row2?: number; column2?: number };
/** From its first row and column to its last. */
type CellRange = Required<Mark>;
/** Where the fill handle was dragged to. */
type Corner = { to_row: number; to_column: number };
type Filling = { to: Corner | null; other: boolean };
/** A whole row, or a whole column. */
type Line = { name: Name; row: number; column?: undefined } | { name: Name; row?: undefined; column: number };
/** Where a name leads, or why it leads nowhere. */
type Destination = { cell?: Cell; line?: Line; lane?: number; problem?: string };
/** A row or column that goes into a cell of D, and the lanes that hold it. */
type Contribution = { line: Line; lanes: number[] };
/** What is under the pointer: a cell, or a lane. */
type Hovered = (Cell & { lane?: undefined }) | { lane: number; name?: undefined };
/** On the page. */
type Point = { x: number; y: number };
type ClientPoint = { clientX: number; clientY: number };
/** What zooming keeps in its place along an axis: a point of a cell, from 0 to 1 in it, and where it was. */
type Anchor = {
  axis: Axis;
  pane: Pane;
  isHeld: boolean;
  point: Point | null;
  cell: Cell;
  right: number;
  down: number;
};
/** What a pane shows of its matrix, in pixels of the scene: its window, and where all of the matrix would be. */
type PaneView = { window: Place; origin: Point; total: Size; picture: OffscreenCanvas | null };
type FlightLeg = { pane: Pane; from: PaneView; to: PaneView; isNearer: boolean; now: PaneView | null };
/** A row or a column, from 0 to 1 along its axis. */
type AxisBand = { axis: Axis; start: number; end: number };
type Place = { x: number; y: number; width: number; height: number };
type Size = { width: number; height: number };
/** The room for headings, the classes of the frame and of the text box, and what else the text box has. */
type GridParts = {
  head: { left: number; top: number };
  frame: string;
  input: string;
  attributes: Record<string, string>;
  bar?: number;
};

// -- an instruction and its matrices: instruction_info.py and serialise.py --

type Colour = [background: string, text: string];

interface InstructionInfo {
  mnemonic: string;
  m: number;
  n: number;
  k: number;
  lanes: number;
  mma_count: number;
  chunk: number;
  kept: number;
  scale_blocks: number;
  /** Of every product, and what C is multiplied by. */
  product_sign: 1 | -1;
  scale_of_c: number;
  /** What wgmma and tcgen05.mma, which have no C, add: "D", or "" if nothing. */
  accumulator?: string;
  column_of_b?: DataView;
  lanes_of_product?: number[][];
  matrices: Partial<Record<Name, MatrixInfo>>;
  registers: Partial<Record<Name, number>>;
  colours: { light: Colour[]; dark: Colour[]; warps: number[] };
  /** Of tcgen05 only: what its mnemonic does not say, where its matrices are, its descriptor. */
  shape?: string;
  tensor?: TensorInfo;
  descriptor?: DescriptorInfo;
  /** Lanes of D that stay as they were, and columns of B that count as zeros. */
  disabled_lanes?: number[];
  zero_columns?: number[];
  column_shift?: number;
  /** Of tcgen05.ld, .st, .cp and .shift only: move_view.py. */
  transfer?: TransferInfo;
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
  in_memory: boolean;
  /** Why it is empty: of a D that no model computes. */
  unknown?: string;
  products?: Products;
  memory?: string;
  // the colours of core matrices and banks, by their numbers, among those of the lanes
  core_tints?: number[];
  bank_tints?: number[];
  /** Of words that are moved: what rows and columns are, and the columns with names of their own. */
  axes?: [string, string];
  column_names?: string[];
  /** Where each word is in shared memory, and whether lane r supplies the address of row r. */
  byte_map?: DataView;
  address_lanes?: boolean;
  legends?: { [colour in "register" | "warp" | "core matrix" | "bank"]?: Legend };
}

/** What colours mean: of each a text, its place among the colours of the lanes, and a tip. */
type Legend = { title: string; cells: [text: string, tint: number, tip: string][] };

type MatrixInfo = Basics & {
  [map in "lane" | "element_map" | "register_map" | "low" | "byte" | "core" | "line"]?: DataView;
};

interface SentMatrix {
  values: DataView;
  codes: DataView;
  counterpart?: DataView;
  other_values?: DataView;
  other_codes?: DataView;
  chips?: string[];
  differ?: DataView;
  differ_count?: number;
}

type Values = Int32Array | Float32Array | Float64Array;
type Codes = Uint32Array | BigUint64Array;
type ArrayKind<T> = new (buffer: ArrayBufferLike) => T;

/** Where each cell is: in a lane, in shared memory, or nowhere (dense A of a sparse instruction). */
type InLanes = {
  lane: Int16Array;
  elementOf: Int16Array;
  registerOf: Int16Array;
  low: Int16Array;
  byte: null;
  core: null;
  line: null;
};
type InMemory = {
  lane: null;
  elementOf: null;
  registerOf: null;
  low: Int16Array | null;
  byte: Int16Array;
  core: Int16Array;
  line: Int16Array;
};
type Nowhere = {
  lane: null;
  elementOf: null;
  registerOf: null;
  low: null;
  byte: null;
  core: null;
  line: null;
};
type Maps = (InLanes | InMemory | Nowhere) & {
  place: TensorPlaces | null;
};
/** Letters in which most numbers of a matrix, and all of them, can be told. */
type FewestLetters = { most: number; all: number };
/** A rectangle of cells in one lane. */
type LaneBlock = { row: number; column: number; rows: number; columns: number; lane: number };

/** D of two chips, and where they differ; or of one. */
type Compared = {
  differ: Uint8Array;
  chips: string[];
  differCount: number;
  otherValues: Values;
  otherCodes: Codes;
};
type Alone = {
  differ: null;
  chips?: undefined;
  differCount?: undefined;
  otherValues: null;
  otherCodes: null;
};

interface MatrixValues {
  name: Name;
  info: MatrixInfo;
  maps: Maps;
  sent: SentMatrix;
  values: Values;
  codes: Codes;
  // of sparse A: where each cell of one form is in the other, dense or compressed
  counterpart: Int32Array | null;
  /** Of D while it is played: D as it is in the end, how deep its colours are, and cells that its type cannot hold. */
  whole?: Matrix;
  deep?: number;
  beyond?: Uint8Array;
}

type Matrix = Basics & MatrixValues & Maps & (Compared | Alone);
type Stored = Matrix & { counterpart: Int32Array };
type Nibbles = Matrix & (InLanes | { place: TensorPlaces });

/** By name. Code that does not know which matrices the instruction has uses `AnyMatrices`. */
interface Matrices extends Record<Name, Matrix> {
  stored: Stored;
  E: Nibbles;
}
type AnyMatrices = { A: Matrix; B: Matrix; C: Matrix; D: Matrix } & (
  | { stored: Stored; E: Nibbles }
  | { stored: null; E: null }
) &
  ({ SFA: Matrix; SFB: Matrix } | { SFA: null; SFB: null });

/** An element in a register of a lane: serialise.py. */
type Field = { element: number; row: number; column: number; low: number; bits: string; text: string };
type Register = { hex: string; fields: Field[] };
/** By operand, of those that the instruction has. */
type Registers = Record<Name, Register[]>;
/** The registers of an operand that are shown. */
type Block = { name: Name; count: number; page: number; from: number; to: number };
/** A register that is shown: how many elements it has, and whether other lanes are shown beside it. */
type RegisterInfo = { name: Name; register: number; matrix: Matrix; count: number; small: boolean };

/** An element that is shown in a register. */
type FieldNode = { node: HTMLElement; cell: () => Cell | null };

// -- how a pane is laid out --

/** The widths of a column of A and of one of B and D, the heights of a row of A and D and of one of B, in pixels. */
type CellSize = { columnA: number; columnB: number; rowA: number; rowB: number };
/** Their widths for the smallest digits: all of them, fewer in every cell, and fewer in most; of A for single digits. */
type CellWidths = Record<"full" | "all" | "most", Pick<CellSize, "columnA" | "columnB">> & {
  code: number | null;
};
/** What is written into cells: numbers, rounded ones or codes where those do not fit, or none. */
type CellText = { label: Label; letters: number; lines: number; kind: "whole" | "rounded" | "code" | "none" };
/** Lanes and registers beside the scene, with bits or without; below it; behind a tab. */
type RegisterForm = "bits" | "values" | "below" | "tab";
/** What a scene is planned for: `scene_plan.js`. */
type SceneRoom = {
  width: number;
  view: number;
  legend: number;
  side: number;
  /** Of the timeline, where the corner is no stage for it. */
  timeline: number;
  isExplaining: boolean;
  mayGrow: boolean;
};
/** Whether compressed A is above A, and how many times the rows of D are there: once more for C. */
type Tiers = { tiers: number; aboveA: boolean; isAbove: boolean };
/** Columns of A and of B, rows of B and of A; pixels between products. */
type CellCount = { a: number; n: number; b: number; m: number; gaps: number } & Tiers;
/** The same in pixels: of the matrices, or of what is seen of them and of compressed A. */
type Extent = { a: number; n: number; b: number; m: number; above?: number } & Tiers;
/** Cells when all of the scene is seen, when all digits can be read, and when single bits are. */
type ScenePlan = {
  count: CellCount;
  whole: CellSize;
  legible: CellSize;
  nearest: CellSize;
  room: Size;
  width: number;
  height: number;
  form: RegisterForm;
  /** Whether the corner has room for the timeline and what is pointed at. */
  isStage: boolean;
  /** Cells of A and B where of these a row and a column are seen. */
  strips?: { A: CellSize; B: CellSize; D?: CellSize };
  /** The matrix that is seen alone: in a low scene, while its memory is shown. */
  only?: Name;
};

/** Where indices are, in pixels: a new period begins after every `per` of them. */
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
/** A layer whose rows are not in parts needs no `down`. */
type Plan = Omit<Layer, "down"> & { down?: Along };
/** M down A and D, N across B and D, K across A, and K down B. */
type Axis = "m" | "n" | "kOfA" | "kOfB" | "mOfA" | "nOfB";
type Ink = {
  text: string;
  faint: string;
  paper: string;
  brand: string;
  bad: string;
  step: string;
  flash: string;
  plain: string;
  line: string;
  black: string;
  mono: string;
  sign: string;
  exponent: string;
};
type Painter = (index: number) => Colour;
type LabelSize = { letters: number; lines: number };

/** Where the tip is, and the cell around which it magnifies. */
type TipPlace = { x: number; y: number; small: Cell | null };

/** How the cells of a layer are drawn. */
type LayerStyle = {
  label: Label;
  lines: number;
  /** Of a row, and of letters, in pixels. */
  high: number;
  size: number;
  /** How many letters fit. */
  letters: number;
  kind: CellText["kind"];
  /** Whether anything is written; the gap between cells, and before the right edge of one. */
  digits: boolean;
  /** How deep the colours are. */
  deep: number;
  inset: number;
  pad: number;
  /** The largest value, where cells are pixels that are shaded by magnitude; else 0. */
  grey: number;
  /** In how many rows single bits are drawn; 0 for a number instead. */
  bits: number;
};
/** A box around cells: how much of its colour is over them, and how wide a line in the page's colour is below. */
type BoxStyle = { colour: string; line: number; wash?: number; dash?: number[]; halo?: number };
type LaneOutline = { lane: number; line: number; dash: number[] };

type DrawCell = (row: number, column: number, index: number, x: number, y: number, width: number) => void;

// -- the toolbar: toolbar.py --

type Choice<T> = [text: string, value: T];
type DisplayControl = { label: string; hint: string } & (
  | { trait: "label" | "colour_by"; options: Choice<Label | Traits["colour_by"]>[]; range?: undefined }
  | { trait: "zoom"; options?: undefined; range: { min: number; max: number; step: number } }
);

interface ToolbarData {
  controls: DisplayControl[];
  chips: Choice<string>[];
  chip: string;
  against: string | null;
  patterns: { [name in Name]?: string[] };
  options: Control[];
  undo: boolean;
  redo: boolean;
  gpu: { available: boolean; status: string; busy: boolean };
  static?: boolean;
}

/** A refused edit: refusals.py. */
interface Refusal {
  name: Name;
  sentence: string;
  cells: [row: number, first: number, last: number][];
  text: string;
  typed_at: number[];
  prune: string;
  preview: string;
}

// -- why a cell of D has its bits: stepper.py and serialise.py --

/** A step of a sum. */
type SumStep = {
  role: "C" | "align" | "term" | "round";
  k?: [first: number, last: number];
  operation: string;
  text: string;
  name: string;
};
/** A number as bits, from the highest that is set to the lowest; `lead` is the exponent of the first. Its value as
 * text, where the digits do not say it. */
type BitBar = { sign: number; lead: number; digits: string; value?: string };
/** A term: the number of its step, and the exponent of the last bit that is kept, where bits are cut off. */
type BitTerm = BitBar & { step: number; last: number | null; factors: string };
/** The terms of a sum on one chip, which adds `depth` products at a time; and the exact sum, if it is another. */
type BitBars = { chip: string; depth: number; terms: BitTerm[]; result: BitBar; exact?: string };
/** `apart`: where two chips diverge, if two are compared. */
type DotProduct = {
  column_of_b: number;
  summary: string;
  steps: SumStep[];
  bits?: BitBars[];
  apart?: string;
};

interface Grid {
  title: string;
  size: [rows: number, columns: number];
  axes: [string, string];
  rows: [start: number, text: string][];
  row_names: string[][]; // of the terms that each row stands for
  columns: [start: number, size: number, text: string][];
  cells: [row: number, column: number, width: number, text: string, classes: string, hover: string][];
  row_rules: number[];
  column_rules: [column: number, first: number, stop: number][];
}

/** One of two chips: its result, its steps, and the step and row at which the two part. */
type TraceColumn = {
  heading: string;
  notes: string[];
  grids: Grid[];
  parts: [step?: number, row?: number | null];
};
type Picture = { title: string; notes: string[]; grids: Grid[]; lead?: string; columns?: TraceColumn[] };
type Trace = { row: number; column: number; dot_product?: DotProduct } & Sent<Picture>;

// -- the memory view: memory_view.py --

type MemoryColour = "lane" | "row" | "column" | "wavefront";
/** Of a matrix descriptor a layout may be a modifier of the instruction: its values by the major index. */
type MemoryControl = Control & { modifier?: { name: string; row: number; column: number } };
/** A list, of each choice its text, its value, and why it cannot be chosen; a number with a range; or else a text. */
type Control = {
  name: string;
  /** Written before it, if anything is. */
  label?: string;
  hint: string;
  /** What a screen reader says, if not the label or else the name. */
  spoken?: string;
  value: string | number | boolean | null;
  choices?: [text: string, value: string | number | boolean | null, obstacle?: string][];
  range?: { min: number; max: number; step?: number };
  disabled?: boolean;
};
/** A wavefront, registers that are then complete, or what reads or wrote them. */
type MemoryStep = {
  kind: "wavefront" | "registers" | "mma";
  wavefront: number;
  /** The wavefronts of the same lanes, [first, stop], if it is one of several. */
  group: number[];
  registers: number[];
  text: string;
};
interface MemoryData {
  name: Name;
  by: string;
  major: "row" | "column";
  pitch: number | null;
  swizzle: number;
  layout: string | null;
  controls: MemoryControl[];
  size: number;
  /** Of an element. */
  bits: number;
  // of every cell: its byte, its lowest bit there, the wavefront that moves it
  byte: DataView;
  low?: DataView;
  wavefront: DataView;
  suppliers: [address: number, lane: number, matrix: number][];
  wavefronts: number;
  least: number;
  summary: string;
  facts: string[];
  steps: MemoryStep[];
  /** Of a tile that wgmma or tcgen05.mma reads. */
  descriptor?: DescriptorInfo;
}
interface MemoryMap {
  byte: Int32Array;
  low: Int8Array | null;
  wavefront: Int16Array;
  /** Bytes of a cell; 1 where several share a byte. */
  unit: number;
  perByte: number;
  /** Of every byte: the lowest cell in it, or -1. */
  cellAt: Int32Array;
  supplier: Map<number, { lane: number; matrix: number }>;
}

/** What the slider chooses, and, of something that plays, what its button does and the milliseconds of a step. */
// -- the timeline --

/** From a cell to a lane, or to another cell. */
type TileFlight = { cell: Cell; lane?: number; to?: Cell };
/** What flies, on the page. */
type Tile = { from: Place; to: Place; colour: Colour; text: string };
/** The k whose products are added in a step. */
type Path = { first: number; last: number };
/** A state of the instruction: what is said, which cells it is about, what flies, how long it stays. */
type Frame = {
  text: () => string;
  marks: () => Mark[];
  hold: number;
  operation?: string;
  flights?: () => TileFlight[];
  lanes?: number[];
  /** The first register that it is about. */
  register?: { name: Name; register: number };
  /** How many k are summed in D by then, -1 before the sum begins; else D is as it is in the end. */
  summed?: number;
  path?: Path;
  /** The step of the close-up. */
  closeUp?: number;
  /** The step of the memory view's access, or that of the sum. */
  memory?: number;
  step?: SumStep;
};
/** Cells of a matrix in the scene; `isOne`: each is a single one. */
type CellBoxes = { window: Place; cells: { box: Place; index: number; isOne: boolean }[] };
/** Cells of an instruction, by the lane and element that hold them, and where its matrices are. */
type PlacedCell = { name: Name; box: Place; colour: Colour; text: string };
type Places = { cells: Map<string, PlacedCell>; windows: Map<Name, Place> };
/** The element whose bits are shown, where, over which panes, and what these showed before. */
type Dive = {
  row: number;
  column: number;
  bits: BitBars[];
  place: Place;
  hidden: Pane[];
  pictures: { pane: Pane; window: Place; picture: OffscreenCanvas }[];
};
/** `about`: what happens in it, for its tip. */
type TimelinePart = { name: string; about: string; frames: Frame[]; isSum?: boolean };
/** Cells with neighbouring numbers. */
type CellGroup = { first: number; last: number; cells: number[] };

type PlayerPart = { name: string; about: string; steps: number };
type PlayerOptions = { label: string; name: string; pace?: number; first?: number };

/** What a view tells the grid that it is. */
type GridView = import("./common/canvas_grid.js").CanvasGrid & {
  /** Whether the chosen place can be changed, and its text; "" if there is nothing in it. */
  readonly editable: boolean;
  chosenText(): string;
  scrolled(): void;
  point(event: MouseEvent): void;
  leave(): void;
  /** Returns whether there is something to choose. */
  press(event: MouseEvent): boolean;
  tap(event: MouseEvent): void;
  edit(event?: ClientPoint | null): void;
  /** The text box gets the focus. */
  enter(): void;
  /** Where a key leads that ends typing; null for a key of the text. */
  afterTyping(event: KeyboardEvent): (() => void) | null;
  keyOnPlaces(event: KeyboardEvent): boolean;
  /** Sends what was typed; returns whether the place can be changed. */
  write(text: string): boolean;
};
/** A view of words of memory. */
type WordView<Word> = import("./common/canvas_grid.js").WordGrid<Word> &
  GridView & {
    readonly isOpen: boolean;
    /** What words look like besides what is in them. */
    readonly style: string;
    /** How far keys go: rows of a page, and words to the ends of a row. */
    readonly reach: { page: number; home: number; end: number };
    shownMatrices(): (Matrix | undefined)[];
    drawWords(): void;
    drawMarks(): void;
    changedPlaces(before: Matrix, matrix: Matrix): Place[];
    wordUnder(event: ClientPoint): Word | null;
    cellUnder(event: ClientPoint): Cell | null;
    wordFacts(word: Word): string[];
    freeFacts(word: Word): string[];
    placeOf(word: Word): Place;
    /** The word of the selected cell. */
    selected(): Word | null;
    /** The nearest word that there is. */
    limited(word: Word): Word;
    below(rows: number): Word;
    step(down: number, right: number): void;
    chooseThread(word: Word): void;
  };
/** A word of tensor memory. */
type TensorWord = { lane: number; column: number };

// -- tensor memory: tensor_view.py --

/** The place of an element is the sum of those of its copy, row and column: pairs of a lane and a bit along it. */
interface TensorPlace {
  first: number;
  columns: number;
  width: number;
  copy: DataView;
  row: DataView;
  column: DataView;
  source: string;
  text: string;
  /** Of words that are moved: the grid that they are in. */
  block?: number;
}
type TensorName = "D" | "A" | "E" | "SFA" | "SFB";
interface TensorInfo {
  ctas: number;
  lanes: number;
  columns: number;
  allocated: number;
  path: string;
  summary: string;
  note: string;
  places: { [name in TensorName]?: TensorPlace };
  /** Of words that are moved: what is in the places of the two CTAs. */
  blocks?: TensorBlock[];
}
interface TensorBlock {
  title: string;
  label: string;
  axes: [string, string];
  rows: number;
  columns: number;
  warps: boolean;
  names: string[];
  /** Columns that share a register, and rows that belong together. */
  group?: number;
  band?: number;
}
/** A list to choose from, or a number up to `most`. */
interface TransferInfo {
  family: string;
  /** The matrix in registers, or "". */
  registers: Name | "";
  by: "A" | "D";
  /** Whether registers hold halves of words; bits of the elements that become bytes, or 0. */
  halves: boolean;
  element_bits: number;
  controls: Control[];
}
type TransferLinks = { sources: number[][]; targets: number[][] };
/** Of every cell: its lane, those of the second CTA from 128 on, its column and lowest bit; and where else it is. */
type TensorPlaces = {
  lane: Int16Array;
  column: Int16Array;
  low: Int16Array;
  copies: [lane: number, bit: number][];
  isPair: boolean;
  info: TensorPlace;
};
type TensorColour = "operand" | "row" | "column" | "scale" | "thread" | "value";
/** Elements of an operand by word: `parts` of them in each, -1 for none. */
type TensorSlots = { name: TensorName; info: TensorPlace; parts: number; cells: Int32Array };
/** An element in a word of tensor memory. */
type TensorElement = { name: Name; index: number; low: number; bits: number };

interface LoadData {
  mnemonic: string;
  shape: string;
  count: number;
  lane: number;
  column: number;
  pack: boolean;
  registers: number;
  parts: number;
  // of every thread of a warp and every part of its registers: the lane among the warp's 32, and the column
  lanes: DataView;
  columns: DataView;
  summary: string;
  controls: Control[];
}
/** A register of a thread as texts: its number, its bits, what is in it, and their values. */
type RegisterLine = { texts: string[]; isFree?: boolean; isHere: boolean };
type LoadMap = { lanes: Int16Array; columns: Int16Array; elements: number; at: Int32Array; wide: number };

type DescriptorField = {
  name: string;
  low: number;
  bits: number;
  code: number;
  text: string;
  meaning: string;
  choices: [text: string, obstacle: string][];
  typed: boolean;
};
type DescriptorInfo = { hex: string; sentence: string; problems?: string[]; fields: DescriptorField[] };
/** Which descriptor is shown, and what changes it: all its bits in hexadecimal, or one field. */
type DescriptorSource = {
  bits: 32 | 64;
  title: string;
  called: string;
  info: () => DescriptorInfo | undefined;
  setCode: (text: string, origin: MessageOrigin) => void;
  setField: (name: string, text: string, origin: MessageOrigin) => void;
};

// -- the quiz: quiz.py, and motion --

interface QuizQuestion {
  kind: string;
  text: string;
  hint: string;
  takes: "register" | "cell" | "text" | "numbers" | "words";
  marked: Cell[];
  masked: Cell[];
  lane: number;
  element: string;
  example: string;
}
type QuizVerdict = { right: boolean; sentence: string; cells: Cell[]; chosen: Cell[]; skipped: boolean };
interface QuizData {
  number: number;
  count: number;
  right: number;
  answered: number;
  problem: string;
  question: Sent<QuizQuestion>;
  verdict: Sent<QuizVerdict>;
}
type SavedQuestion = { question: QuizQuestion; answers: string[]; explanation: string; cells: Cell[] };

/** An element of a register, where it starts, and the cells to which it flies: of sparse A both forms. */
type Flight = {
  operand: Name;
  register: number;
  text: string;
  from: Place;
  cells: (Place & { seen: boolean })[];
};

// -- the picker: picker.py --

type Space = "register" | "shared" | "tensor";
type PickerRow = [
  mnemonic: string,
  family: number,
  shape: number,
  types: number,
  qualifiers: number,
  targetSet: number,
  nSet: number,
  wordSet: number,
  space: number, // where A may be: 0 in one place, 1 in registers or shared memory, 2 in shared or tensor memory
  lanes: number,
];

interface PickerIndex {
  count: number;
  others: [count: number, families: string[]]; // of the catalogue, not in the rows: there is nothing to show
  families: string[];
  shapes: string[];
  types: string[];
  qualifiers: string[];
  targets: [target: string, generation: string, gpus: string[]][];
  target_sets: [text: string, targets: number[], ptxVersion: string][];
  n_sets: number[][];
  word_sets: string[][];
  parts_of_words: Record<string, string[]>;
  rows: PickerRow[];
}

/** An instruction of the catalogue: the indices of its family, shape, types and qualifiers. */
type Item = {
  row: number;
  n: number;
  many: boolean;
  mnemonic: string;
  at: number[];
  targetSet: number;
  wordSet: number;
  space: number;
  lanes: number;
};
/** What is chosen in the picker; null for all. */
type Choices = { at: (number | null)[]; target: number | null; n: number | null };
/** A word of the search, and how it was understood. */
type SearchWord = { word: string; level: number; known: string[]; fits: Set<number> };
type Match = { item: Item; items: Item[]; like?: number };
/** An option of a list: how many instructions it leaves, its node, and the node of that number. */
type OptionNode<T> = {
  value: T;
  count: number;
  name: string;
  chosen: boolean;
  current: boolean;
  node: HTMLElement;
  number: HTMLElement;
};

// -- a static page: static_html.py --

/** Of all lanes at once: [lane][register], and of elements [lane][register][element]. */
type Columns = {
  count: number;
  own: Record<string, string[][]>;
  fields: Record<string, (string | number)[][][]>;
};
interface SavedPage {
  notes: string[];
  code: string;
  live: string;
  state: Traits;
  lanes: { [operand in Name]?: Columns };
  traces: Sent<Trace>[];
  memories: { [name in Name]?: MemoryData };
  loads: LoadData[];
  quiz: SavedQuestion[];
  refusal: string;
  how_to_change: string;
  not_saved: string;
}

/** What the bar of a walk shows: one stop, and a map of all. */
interface WalkShown {
  walk: string;
  number: number;
  title: string;
  mnemonic: string;
  news: string;
  sharing: string;
  forms: string[];
  question: { text?: string; example?: string };
  verdict: { state?: string; text?: string; answer?: string };
  stops: {
    title: string;
    /** Stops beside each other have the same type, or are of the same family. */
    group: string;
    done: boolean;
    images: { name: string; rows: number; columns: number; image: string }[];
  }[];
}

/** An operand in registers: its picture, coloured by lane, and the manual's formula. */
interface WalkFragment {
  name: string;
  title: string;
  formula: string;
  image: string;
  rows: number;
  columns: number;
}

interface WalkFragmentsModel {
  get(name: "fragments"): WalkFragment[];
  on(event: string, call: () => void): void;
  off(event: string, call: () => void): void;
}

type WalkMessage = { action: "go"; stop: number } | { action: "answer"; text: string };

interface WalkModel {
  get(name: "shown"): WalkShown;
  on(event: string, call: () => void): void;
  off(event: string, call: () => void): void;
  send(message: WalkMessage): void;
}

/** A stop on a saved page, with what checks its answer. */
interface SavedStop extends Pick<
  WalkShown,
  "title" | "mnemonic" | "news" | "sharing" | "forms" | "question"
> {
  name: string;
  group: string;
  code: string;
  fragments: WalkFragment[];
  images: WalkShown["stops"][number]["images"];
  answers: [number, number][];
  hints: {
    unread: string;
    swapped: string;
    first: string;
    second: string;
    beyond: string;
    held: string[][];
  };
}

interface SavedWalk {
  walk: string;
  start: number;
  notes: string[];
  stops: SavedStop[];
}

// -- Python in a tab --

/** A message of Python: JSON, and the bytes that belong into it. */
type EncodedMessage = [text: string, buffers: Uint8Array[]];

/** Where the worker loads Python and ptxlab from. */
/** What a page tells Python: values of its own, or an edit or a request. */
type PageMessage = { method: string; state?: object; content?: Message };
type WorkerSettings = { pyodide: string; archive: string; kernels?: string; clang?: CompilerParts };
/** The compiler of C++: a stream in parts, and its bytes. */
type CompilerParts = { addresses: string[]; packed: number; unpacked: number };
