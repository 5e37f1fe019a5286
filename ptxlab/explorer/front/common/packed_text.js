// A value as a word of an address, and back: JSON, compressed, in letters that addresses have.

/** @param {BlobPart} part @param {CompressionStream | DecompressionStream} through */
const streamed = (part, through) => new Response(new Blob([part]).stream().pipeThrough(through));

/** @param {unknown} value */
export async function packText(value) {
  const packed = streamed(JSON.stringify(value), new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await packed.arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} word @returns {Promise<any>} */
export function unpackText(word) {
  const letters = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  return streamed(bytes, new DecompressionStream("deflate-raw")).json();
}
