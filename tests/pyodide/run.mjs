// pytest in Pyodide under node: node run.mjs <Pyodide's folder> <the repository> <pytest as a zip> arguments...

import { readFileSync } from "node:fs";

const [home, repository, archive, ...options] = process.argv.slice(2);

async function main() {
  const { loadPyodide } = await import(`file://${home}/pyodide.mjs`);
  const env = { HOME: "/home/pyodide", PTXLAB_EXHAUSTIVE: process.env.PTXLAB_EXHAUSTIVE ?? "" };
  const python = await loadPyodide({ indexURL: `${home}/`, env });
  await python.loadPackage(["numpy", "ml-dtypes"], { messageCallback() {} });
  python.unpackArchive(new Uint8Array(readFileSync(archive)), "zip", { extractDir: "/packages" });
  python.FS.mkdirTree("/repository");
  python.mountNodeFS("/repository", repository);
  python.FS.chdir("/repository");
  python.globals.set("options", python.toPy(options));
  return python.runPython(`
import sys

sys.dont_write_bytecode = True
sys.path[:0] = ["/repository", "/packages"]

import pytest

int(pytest.main(["-p", "no:cacheprovider", "--noconftest", "-p", "tests.fixtures", *options]))
`);
}

try {
  process.exit(await main());
} catch (error) {
  console.error(String(error.message).slice(-4000)); // without the line of Pyodide's code: a megabyte
  process.exit(70);
}
