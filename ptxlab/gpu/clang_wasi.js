// Clang in WebAssembly as a function of its arguments and of the files it reads. What Clang asks an operating system
// for is in WASI's preview 1: of that, here are files in memory, and nothing else.

/**
 * A file, of which `size` bytes are used.
 * @typedef {{ bytes: Uint8Array, size: number }} WasiFile
 * @typedef {{ file?: WasiFile, folder?: boolean, at: number }} WasiDescriptor
 */

/**
 * @param {WebAssembly.Module} module
 * @param {string[]} words the arguments, the program's name first
 * @param {[string, string][]} sources files by path
 * @param {string} output the file that is returned
 * @returns {{ text: string, messages: string, status: number }}
 */
export default function runClang(module, words, sources, output) {
  const [NO_DESCRIPTOR, NO_FILE, NOT_HERE] = [8, 44, 58]; // errno of WASI
  const [FOLDER, FILE] = [3, 4]; // file types of WASI
  const [CREATE, EXCLUSIVE, TRUNCATE] = [1, 4, 8]; // how path_open opens
  const EXISTS = 20;
  const ROOT = 3; // the folder that is open from the beginning
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const files = /** @type {Map<string, WasiFile>} */ (new Map());
  const folders = new Set([""]);
  for (const [path, text] of sources) {
    const bytes = encoder.encode(text);
    files.set(path, { bytes, size: bytes.length });
    for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) folders.add(path.slice(0, at));
  }
  const opened = /** @type {Map<number, WasiDescriptor>} */ (new Map());
  for (const stream of [0, 1, 2]) opened.set(stream, { at: 0 });
  opened.set(ROOT, { folder: true, at: 0 });
  let messages = "";
  let status = 0;
  let memory = new WebAssembly.Memory({ initial: 0 }); // that of Clang, once it is there

  const view = () => new DataView(memory.buffer);
  /** @param {number} at @param {number} length */
  const bytesAt = (at, length) => new Uint8Array(memory.buffer, at, length);
  /** @param {number} at @param {number} length */
  function pathAt(at, length) {
    const parts = /** @type {string[]} */ ([]);
    for (const part of decoder.decode(bytesAt(at, length)).split("/"))
      if (part === "..") parts.pop();
      else if (part !== "." && part !== "") parts.push(part);
    return parts.join("/");
  }
  // The parts of memory that a list of addresses and lengths names.
  /** @param {number} list @param {number} count */
  const partsAt = (list, count) =>
    Array.from({ length: count }, (_, index) =>
      bytesAt(view().getUint32(list + 8 * index, true), view().getUint32(list + 8 * index + 4, true)),
    );
  /** @param {string[]} texts */
  function makeList(texts) {
    const list = texts.map((text) => encoder.encode(`${text}\0`));
    return {
      /** @param {number} count @param {number} size */
      sizes(count, size) {
        view().setUint32(count, list.length, true);
        view().setUint32(
          size,
          list.reduce((sum, { length }) => sum + length, 0),
          true,
        );
        return 0;
      },
      /** @param {number} table @param {number} at */
      fill(table, at) {
        let next = at;
        list.forEach((bytes, index) => {
          view().setUint32(table + 4 * index, next, true);
          bytesAt(next, bytes.length).set(bytes);
          next += bytes.length;
        });
        return 0;
      },
    };
  }
  const numbers = /** @type {Map<unknown, number>} */ (new Map()); // files that are the same have the same number
  /** @param {number} at @param {WasiFile | string} what a file, or the path of a folder */
  function describe(at, what) {
    if (!numbers.has(what)) numbers.set(what, numbers.size + 1);
    const isFile = typeof what !== "string";
    bytesAt(at, 64).fill(0);
    view().setBigUint64(at + 8, BigInt(numbers.get(what) ?? 0), true);
    view().setUint8(at + 16, isFile ? FILE : FOLDER);
    view().setBigUint64(at + 24, 1n, true); // names of the file
    view().setBigUint64(at + 32, BigInt(isFile ? what.size : 0), true);
    return 0;
  }
  /** @param {WasiFile} file @param {number} list @param {number} count @param {number} from */
  function read(file, list, count, from) {
    let at = from;
    for (const part of partsAt(list, count)) {
      const piece = file.bytes.subarray(at, Math.min(file.size, at + part.length));
      part.set(piece);
      at += piece.length;
    }
    return at - from;
  }
  /** @param {WasiFile} file @param {Uint8Array} part @param {number} at */
  function write(file, part, at) {
    const end = at + part.length;
    if (end > file.bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * file.bytes.length));
      larger.set(file.bytes);
      file.bytes = larger;
    }
    file.bytes.set(part, at);
    file.size = Math.max(file.size, end);
  }

  const argumentList = makeList(words);
  const environment = makeList([]);
  const ended = new Error("Clang has ended");
  /** @type {Record<string, (...values: any[]) => number>} */
  const calls = {
    args_sizes_get: argumentList.sizes,
    args_get: argumentList.fill,
    environ_sizes_get: environment.sizes,
    environ_get: environment.fill,
    clock_time_get(_, __, at) {
      view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    random_get(at, length) {
      bytesAt(at, length).fill(1); // names of temporary files, of which there is one
      return 0;
    },
    proc_exit(code) {
      status = code;
      throw ended;
    },
    fd_prestat_get(number, at) {
      if (number !== ROOT) return NO_DESCRIPTOR;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true); // the length of its name
      return 0;
    },
    fd_prestat_dir_name(_, at) {
      bytesAt(at, 1).set(encoder.encode("/"));
      return 0;
    },
    fd_fdstat_get(number, at) {
      const descriptor = opened.get(number);
      if (!descriptor) return NO_DESCRIPTOR;
      bytesAt(at, 8).fill(0);
      bytesAt(at + 8, 16).fill(255); // all rights
      if (descriptor.folder) view().setUint8(at, FOLDER);
      else view().setUint8(at, descriptor.file ? FILE : 2);
      return 0;
    },
    fd_filestat_get(number, at) {
      const descriptor = opened.get(number);
      return descriptor ? describe(at, descriptor.file ?? `${number}`) : NO_DESCRIPTOR;
    },
    path_filestat_get(_, __, name, length, at) {
      const path = pathAt(name, length);
      const file = files.get(path);
      if (!file && !folders.has(path)) return NO_FILE;
      return describe(at, file ?? path);
    },
    path_open(_, __, name, length, how, ___, ____, _____, result) {
      const path = pathAt(name, length);
      let file = files.get(path);
      const folder = folders.has(path);
      if (!file && !folder && !(how & CREATE)) return NO_FILE;
      if (file && how & EXCLUSIVE) return EXISTS;
      if (!file && !folder) {
        file = { bytes: new Uint8Array(1 << 16), size: 0 };
        files.set(path, file);
      }
      if (file && how & TRUNCATE) file.size = 0;
      const number = Math.max(...opened.keys()) + 1;
      opened.set(number, { file, folder, at: 0 });
      view().setUint32(result, number, true);
      return 0;
    },
    fd_close: (number) => (opened.delete(number) ? 0 : NO_DESCRIPTOR),
    fd_read(number, list, count, result) {
      const descriptor = opened.get(number);
      if (!descriptor?.file) return NO_DESCRIPTOR;
      const length = read(descriptor.file, list, count, descriptor.at);
      descriptor.at += length;
      view().setUint32(result, length, true);
      return 0;
    },
    fd_pread(number, list, count, from, result) {
      const file = opened.get(number)?.file;
      if (!file) return NO_DESCRIPTOR;
      view().setUint32(result, read(file, list, count, Number(from)), true);
      return 0;
    },
    fd_write(number, list, count, result) {
      const descriptor = opened.get(number);
      if (!descriptor) return NO_DESCRIPTOR;
      let length = 0;
      for (const part of partsAt(list, count)) {
        if (descriptor.file) write(descriptor.file, part, descriptor.at);
        else messages += decoder.decode(part);
        descriptor.at += part.length;
        length += part.length;
      }
      view().setUint32(result, length, true);
      return 0;
    },
    fd_seek(number, offset, from, result) {
      const descriptor = opened.get(number);
      if (!descriptor?.file) return NO_DESCRIPTOR;
      descriptor.at = Number(offset) + [0, descriptor.at, descriptor.file.size][from];
      view().setBigUint64(result, BigInt(descriptor.at), true);
      return 0;
    },
    path_unlink_file: (_, name, length) => (files.delete(pathAt(name, length)) ? 0 : NO_FILE),
    path_rename(_, name, length, __, newName, newLength) {
      const path = pathAt(name, length);
      const file = files.get(path);
      if (!file) return NO_FILE;
      files.delete(path);
      files.set(pathAt(newName, newLength), file);
      return 0;
    },
  };
  const imports = WebAssembly.Module.imports(module).map(({ name }) => [
    name,
    calls[name] ?? (() => NOT_HERE),
  ]);
  const wasi = { wasi_snapshot_preview1: Object.fromEntries(imports) };
  const instance = /** @type {any} */ (new WebAssembly.Instance(module, wasi));
  memory = instance.exports.memory;
  try {
    instance.exports._start();
  } catch (error) {
    if (error !== ended) throw error;
  }
  const made = files.get(output);
  return { text: made ? decoder.decode(made.bytes.subarray(0, made.size)) : "", messages, status };
}
