// Python sends large traits whole once, then only deltas. Here the model gets whole values again, so that views,
// including those that open later, and saved notebooks need not know about deltas.

import { MATRICES } from "../matrix/matrix.js";

/** @param {DataView} view */
const words = (view) =>
  new Uint32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));

// By index: words of 32 bits in bytes, or items of a list. By name: parts, each changed or new.
/** @param {any} old @param {Change} change @returns {any} */
function patched(old, { at, to, parts }) {
  if (parts)
    return {
      ...old,
      ...Object.fromEntries(
        Object.entries(parts).map(([name, part]) => [
          name,
          "new" in part ? part.new : patched(old[name], part),
        ]),
      ),
    };
  if (Array.isArray(at))
    return Object.assign([...old], Object.fromEntries(at.map((place, index) => [place, to[index]])));
  const [patchedWords, contents] = [words(old), words(to)];
  words(at).forEach((place, index) => {
    patchedWords[place] = contents[index];
  });
  return new DataView(patchedWords.buffer);
}

/** @param {Model} model */
export function applyDeltas(model) {
  const latest = /** @type {Record<string, any>} */ ({});
  /** @param {Name | "lane_registers"} name */
  const applyDelta = (name) => {
    const sent = /** @type {Record<string, any>} */ (model.get(name));
    if (sent?.since !== undefined) {
      if (latest[name]?.version !== sent.since) {
        // a message was lost, or came before this module
        model.send({ type: "resend_matrices" });
        return;
      }
      const { version, ...change } = { ...sent };
      for (const key of Object.keys(sent)) delete sent[key];
      Object.assign(sent, patched(latest[name], /** @type {Change} */ (change)), { version });
    }
    latest[name] = sent;
  };
  for (const name of /** @type {(Name | "lane_registers")[]} */ ([...MATRICES, "lane_registers"])) {
    model.on(`change:${name}`, () => applyDelta(name));
    applyDelta(name);
  }
}
