// Runs in a worker: Pyodide from the files that the page hands over, and the labs in it.
"use strict";

const NOWHERE = "https://engine.invalid/";
let python = null;

const url = (bytes, type) => URL.createObjectURL(new Blob([bytes], { type }));

async function start(files) {
  // Pyodide takes only a worker without importScripts for a modern one. A browser gives a page that
  // was opened from a file no other worker than one with it.
  self.importScripts = () => { throw new TypeError("modules are imported here"); };
  const served = { "pyodide.asm.wasm": files.wasm, "python_stdlib.zip": files.stdlib };
  const types = { "pyodide.asm.wasm": "application/wasm" };
  self.fetch = async (asked) => {
    const name = String(asked.url || asked).split("/").pop();
    if (!(name in served)) throw new TypeError(`${name} is not here: nothing is fetched`);
    return new Response(served[name], {
      headers: { "Content-Type": types[name] || "application/octet-stream" },
    });
  };
  const { loadPyodide } = await import(url(files.pyodide, "text/javascript"));
  const asm = await import(url(files.asm, "text/javascript"));
  python = await loadPyodide({
    indexURL: NOWHERE,
    packageBaseUrl: NOWHERE,
    stdLibURL: `${NOWHERE}python_stdlib.zip`,
    createPyodideModule: asm.default,
    lockFileContents: { info: INFO, packages: {} },
  });
  const folder = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(files.site, "zip", { extractDir: folder });
  python.runPython(`
import gc, json
gc.disable()
import labs
gc.enable()
def answered(call, args):
    return json.dumps(getattr(labs, call)(*json.loads(args)), allow_nan=False)
`);
}

const INFO = __LOCK_INFO__;

self.onmessage = async ({ data }) => {
  const { number, files, call, args } = data;
  try {
    if (files) {
      await start(files);
      self.postMessage({ number });
      return;
    }
    const began = performance.now();
    const function_ = python.globals.get("answered");
    const answer = function_(call, JSON.stringify(args));
    function_.destroy();
    self.postMessage({ number, answer, seconds: (performance.now() - began) / 1000 });
  } catch (error) {
    const lines = String(error.message || error).trim().split("\n");
    self.postMessage({ number, error: lines[lines.length - 1] });
  }
};
