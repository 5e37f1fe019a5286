// Searching the instructions that Python sent: by words in any order, and by column.

export const COLUMNS = ["family", "shape", "types", "qualifiers"];

/** @type {((known: string, word: string) => boolean)[]} */
const LEVELS = [
  // how a word matches one of the vocabulary; the first level with any match counts
  (known, word) => known === word,
  // n8, and not n80
  (known, word) => known.startsWith(word) && !(/\d$/.test(word) && /\d/.test(known[word.length])),
  (known, word) => known.startsWith(word),
  (known, word) => known.includes(word),
];

// The parts of a mnemonic, and the ends of its shape: n8k64, k64.
/** @param {string} mnemonic */
function partsOf(mnemonic) {
  const parts = mnemonic.split(/[.:]+/);
  return [
    ...parts,
    ...parts
      .filter((part) => /^m\d+n\d+k\d+$/.test(part))
      .flatMap((shape) => [shape.slice(shape.indexOf("n")), shape.slice(shape.indexOf("k"))]),
  ];
}

export class Search {
  /** @param {PickerIndex} index */
  constructor(index) {
    this.index = index;
    this.names = [index.families, index.shapes, index.types, index.qualifiers];
    /** @type {Item[]} */
    this.items = index.rows.flatMap(
      ([mnemonic, family, shape, types, qualifiers, targetSet, nSet, wordSet, space, lanes], row) => {
        const many = mnemonic.includes("nNk");
        return index.n_sets[nSet].map((n) => ({
          row,
          n,
          many,
          mnemonic: many ? mnemonic.replace("nNk", `n${n}k`) : mnemonic,
          at: [family, shape, types, qualifiers],
          targetSet,
          wordSet,
          space,
          lanes,
        }));
      },
    );
    this.byMnemonic = new Map(this.items.map((item, index) => [item.mnemonic, index]));
    this.targets = index.target_sets.map(([, places]) => new Set(places));
    this.targetWords = index.target_sets.map(([, places]) =>
      places.flatMap((place) => {
        const [target, generation, gpus] = index.targets[place];
        return [target, ...generation.toLowerCase().split(" "), ...gpus];
      }),
    );
    this.vocabulary = /** @type {Map<string, Set<number>>} */ (new Map());
    this.items.forEach((item, place) => {
      for (const word of [
        ...partsOf(item.mnemonic),
        ...index.word_sets[item.wordSet],
        ...this.targetWords[item.targetSet],
      ]) {
        const key = word.toLowerCase();
        this.vocabulary.set(key, (this.vocabulary.get(key) ?? new Set()).add(place));
      }
    });
  }

  // Which items match every word of a text, and how each word was understood.
  /** @param {string} text */
  search(text) {
    const words = text
      .toLowerCase()
      .split(/[\s,;]+/)
      .filter(Boolean)
      .flatMap((word) => this.understandName(word));
    const matching = this.items.map((_, index) => words.every(({ fits }) => fits.has(index)));
    return { words, matching };
  }

  // Of a name that no mnemonic has as it stands, the parts between its dots: mma.m16n8k16.f16.
  /** @param {string} name @returns {SearchWord[]} */
  understandName(name) {
    const whole = this.understand(name);
    const parts = name.split(".").filter(Boolean);
    return whole.fits.size || parts.length < 2 ? [whole] : parts.map((part) => this.understand(part));
  }

  /** @param {string} word @returns {SearchWord} */
  understand(word) {
    for (const [level, fit] of LEVELS.entries()) {
      const known = [...this.vocabulary.keys()].filter((knownWord) => fit(knownWord, word));
      if (known.length)
        return {
          word,
          level,
          known,
          fits: new Set(known.flatMap((knownWord) => [...(this.vocabulary.get(knownWord) ?? [])])),
        };
    }
    const inside = this.items
      .map((item, index) => (item.mnemonic.toLowerCase().includes(word) ? index : -1))
      .filter((index) => index >= 0);
    return { word, level: LEVELS.length, known: [], fits: new Set(inside) };
  }

  /** @param {Item} item @param {number | null} target */
  has(item, target) {
    return target === null || this.targets[item.targetSet].has(target);
  }

  // Whether an item matches the choices in the columns left of one; N belongs to the shape.
  /** @param {Item} item @param {Omit<Choices, "target">} choice @param {number} column */
  within(item, choice, column) {
    return (
      COLUMNS.every(
        (_, index) => index >= column || choice.at[index] === null || choice.at[index] === item.at[index],
      ) &&
      (column < 2 || choice.n === null || !item.many || choice.n === item.n)
    );
  }

  // The options of a column that the choices to its left allow, with the number of instructions that match.
  /**
   * @param {number} column
   * @param {Choices} choice
   * @param {boolean[]} matching
   * @returns {[value: number, count: number][]}
   */
  options(column, choice, matching) {
    const counts = /** @type {Map<number, number>} */ (new Map());
    this.items.forEach((item, index) => {
      if (!this.within(item, choice, column)) return;
      const value = item.at[column];
      counts.set(value, (counts.get(value) ?? 0) + Number(matching[index] && this.has(item, choice.target)));
    });
    return [...counts].sort(([first], [second]) => first - second);
  }

  // The same for targets, which all choices restrict, and for N, which all other choices restrict.
  /** @param {Choices} choice @param {boolean[]} matching @returns {[value: number, count: number][]} */
  targetOptions(choice, matching) {
    const matches = this.matches({ ...choice, target: null }, matching);
    return this.index.targets.map((_, target) => [
      target,
      matches.filter((item) => this.has(item, target)).length,
    ]);
  }

  /** @param {Choices} choice @param {boolean[]} matching @returns {[value: number, count: number][]} */
  sizes(choice, matching) {
    const all = [...new Set(this.index.n_sets.filter((ns) => ns.length > 1).flat())].sort(
      (first, second) => first - second,
    );
    const matches = this.matches({ ...choice, n: null }, matching).filter((item) => item.many);
    return all.map((n) => [n, matches.filter((item) => item.n === n).length]);
  }

  /** @param {Choices} choice @param {boolean[]} matching */
  matches(choice, matching) {
    return this.items.filter(
      (item, index) =>
        matching[index] && this.within(item, choice, COLUMNS.length) && this.has(item, choice.target),
    );
  }

  // A choice in a column; choices to its right stay if anything still matches them.
  /**
   * @param {Choices} choice
   * @param {number} column
   * @param {number | null} value
   * @param {boolean[]} matching
   * @returns {Choices}
   */
  choose(choice, column, value, matching) {
    const next = { ...choice, at: choice.at.map((chosen, index) => (index === column ? value : chosen)) };
    /** @param {Choices["at"]} at @param {number | null} n */
    const left = (at, n) =>
      this.items.some(
        (item, index) =>
          matching[index] && this.has(item, next.target) && this.within(item, { at, n }, COLUMNS.length),
      );
    const kept = next.at.map((chosen, index) => (index > column ? null : chosen));
    const n = left(kept, next.n) && kept[1] !== null ? next.n : null;
    for (let index = column + 1; index < COLUMNS.length; index += 1) {
      const tried = kept.map((chosen, place) => (place === index ? next.at[index] : chosen));
      if (left(tried, n)) kept[index] = next.at[index];
    }
    return { ...next, at: kept, n };
  }

  // One line for each row: of instructions that differ only in N the one nearest to a wanted N.
  /** @param {Item[]} matches @param {number} wantedN @returns {Match[]} */
  lines(matches, wantedN) {
    const rows = /** @type {Map<number, Item[]>} */ (new Map());
    for (const item of matches) rows.set(item.row, [...(rows.get(item.row) ?? []), item]);
    return [...rows.values()].map((items) => ({
      items,
      item: items.reduce((best, candidate) =>
        Math.abs(candidate.n - wantedN) < Math.abs(best.n - wantedN) ? candidate : best,
      ),
    }));
  }

  /** @param {Item} item @param {Item} other */
  likeness(item, other) {
    return (
      item.at.filter((value, column) => value === other.at[column]).length +
      (item.mnemonic === other.mnemonic ? 1 : 0)
    );
  }
}

// What to highlight for the words of a search: themselves, and the parts that everyday words
// stand for. A text whose meaning is one of the words in `whole` is highlighted completely.
/**
 * @param {string} text
 * @param {SearchWord[]} words
 * @param {Record<string, string[]>} partsOfWords
 * @param {string[]} whole
 */
export function marksIn(text, words, partsOfWords, whole = []) {
  const low = text.toLowerCase();
  const ranges = /** @type {number[][]} */ ([]);
  const seen = /** @type {Set<string>} */ (new Set());
  for (const { word, level, known } of words) {
    /** @type {[part: string, strict: number][]} */
    const sought = [
      [word, level],
      ...known.flatMap((knownWord) =>
        (partsOfWords[knownWord] ?? []).map((part) => /** @type {[string, number]} */ ([part, 0])),
      ),
    ];
    for (const [part, strict] of sought) {
      for (let at = low.indexOf(part); at >= 0; at = low.indexOf(part, at + 1)) {
        const [before, after] = [low[at - 1] ?? "", low[at + part.length] ?? ""];
        const starts = !/\w/.test(before) || (/\d/.test(before) && /[nk]/.test(part[0]));
        if (
          (strict < 3 && !starts) ||
          (strict === 0 && /\w/.test(after)) ||
          (strict === 1 && /\d$/.test(part) && /\d/.test(after))
        )
          continue;
        ranges.push([at, at + part.length]);
        seen.add(word);
      }
    }
    if (!seen.has(word) && known.some((knownWord) => whole.includes(knownWord))) {
      ranges.push([0, text.length]);
      seen.add(word);
    }
  }
  ranges.sort(([first], [second]) => first - second);
  return { ranges, seen };
}

// Appends a text that may break after its dots only.
/** @param {Element} node @param {string} text */
export function appendBreakable(node, text) {
  (text.match(/[^.]*\.|[^.]+$/g) ?? []).forEach((part, index) => {
    if (index) node.append(document.createElement("wbr"));
    node.append(part);
  });
}
