// Modules of Python as bytecode of Pyodide's Python:
// node compile_modules.mjs <pyodide> <zip> <zip to write> [docs] [lines]
// Without docstrings and line numbers, which the last two keep, it is little larger than the source, with them twice as large.

import { readFileSync, writeFileSync } from "node:fs";

const [home, source, target, ...kept] = process.argv.slice(2);
const { loadPyodide } = await import(`file://${home}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${home}/` });
python.globals.set("kept", python.toPy(kept));
python.FS.writeFile("/source.zip", new Uint8Array(readFileSync(source)));
python.runPython(`
import importlib._bootstrap_external as bootstrap
import importlib.util
import types
import zipfile

def without_lines(code):
    inner = (without_lines(each) if isinstance(each, types.CodeType) else each for each in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=tuple(inner))

with zipfile.ZipFile("/source.zip") as source, zipfile.ZipFile("/target.zip", "w") as target:
    for entry in source.infolist():
        content, name = source.read(entry), entry.filename
        if name.endswith(".py"):
            code = compile(content, name, "exec", dont_inherit=True, optimize=0 if "docs" in kept else 2)
            code = code if "lines" in kept else without_lines(code)
            digest = importlib.util.source_hash(content)
            content, name = bootstrap._code_to_hash_pyc(code, digest, checked=False), name + "c"
        target.writestr(zipfile.ZipInfo(name, entry.date_time), bytes(content), zipfile.ZIP_DEFLATED, 9)
`);
writeFileSync(target, python.FS.readFile("/target.zip"));
process.exit(0);
