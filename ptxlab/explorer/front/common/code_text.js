// Code in colours, and the lines of two texts that belong together in the same shade.

import { make } from "./dom.js";

/** @typedef {{ patterns: Record<string, string>, kinds: string[] }} Syntax from views/highlight.py */
/** @typedef {{ first: number, last: number }} Lines of a source, from 1 on */

const SHADES = 5; // kernel_listings.py has their colours

// The lines of a text, each as parts with their kinds.
/** @param {string} text @param {string} language @param {Syntax} syntax */
export function tokenLines(text, language, { patterns, kinds }) {
  const lines = /** @type {[string, string][][]} */ ([[]]);
  /** @param {string} kind @param {string} part */
  function add(kind, part) {
    part.split("\n").forEach((piece, index) => {
      if (index > 0) lines.push([]);
      if (piece) lines[lines.length - 1].push([kind, piece]);
    });
  }
  let end = 0;
  for (const token of text.matchAll(new RegExp(patterns[language], "gm"))) {
    add("", text.slice(end, token.index));
    add(kinds.find((kind) => token.groups?.[kind] !== undefined) ?? "", token[0]);
    end = token.index + token[0].length;
  }
  add("", text.slice(end));
  return lines;
}

/** @param {Element} row @param {[string, string][]} parts */
export function addTokens(row, parts) {
  for (const [kind, text] of parts)
    if (kind) make("span", kind, row, { text });
    else row.append(text);
}

// The class of the shade of each source line that something was compiled from.
/** @param {number[]} sources @returns {Map<number, string>} */
export function shadesOf(sources) {
  const lines = [...new Set(sources)].filter(Boolean).sort((one, other) => one - other);
  return new Map(lines.map((line, index) => [line, `shade${index % SHADES}`]));
}

/** @param {Lines | null} lit @param {number} line */
export const isLit = (lit, line) => lit !== null && line >= lit.first && line <= lit.last;
