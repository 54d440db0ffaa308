// The engine: Python and simrep in a worker. Its files are scripts, so that a page that was opened
// without a server may load them too.
"use strict";

const Engine = (() => {
  const FILES = ["worker", "pyodide", "asm", "wasm", "stdlib", "site"];
  const given = {};
  const asked = new Map();
  let number = 0, worker = null, started = null;

  window.simrepFile = (name, text) => { given[name] = text; };

  function script(name) {
    return new Promise((resolve, reject) => {
      const tag = document.createElement("script");
      tag.src = `engine/${name}.js`;
      tag.onload = () => { tag.remove(); resolve(); };
      tag.onerror = () => reject(new Error(`engine/${name}.js is not there`));
      document.head.append(tag);
    });
  }

  async function bytes(name) {
    await script(name);
    const raw = atob(given[name]);
    delete given[name];
    const packed = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at++) packed[at] = raw.charCodeAt(at);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  // Resolves to the seconds that it took, from the call on.
  function start() {
    if (started) return started;
    const began = performance.now();
    started = (async () => {
      const loaded = await Promise.all(FILES.map(bytes));
      const files = Object.fromEntries(FILES.map((name, place) => [name, loaded[place]]));
      const source = new Blob([files.worker], { type: "text/javascript" });
      delete files.worker;
      worker = new Worker(URL.createObjectURL(source));
      worker.onerror = ({ message }) => {
        for (const { reject } of asked.values()) reject(new Error(message || "the worker does not start"));
        asked.clear();
      };
      worker.onmessage = ({ data }) => {
        const { resolve, reject } = asked.get(data.number);
        asked.delete(data.number);
        if (data.error) reject(new Error(data.error)); else resolve(data);
      };
      await send({ files }, Object.values(files));
      return (performance.now() - began) / 1000;
    })();
    return started;
  }

  function send(message, transfer = []) {
    return new Promise((resolve, reject) => {
      asked.set(++number, { resolve, reject });
      worker.postMessage({ ...message, number }, transfer);
    });
  }

  // Calls a function of labs.py; its answer, and how many seconds it took.
  async function ask(call, ...args) {
    await start();
    const { answer, seconds } = await send({ call, args });
    return { value: JSON.parse(answer), seconds };
  }

  return { start, ask };
})();
