// Compiles the packages of the lessons with the Python that will run them: node compile.mjs ENGINE PACKAGES OUT
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [engine, packages, out] = process.argv.slice(2).map((one) => resolve(one));
const { loadPyodide } = await import(pathToFileURL(`${engine}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${engine}/` });
python.FS.mkdir("/packages");
python.FS.mount(python.FS.filesystems.NODEFS, { root: packages }, "/packages");
python.runPython(`
import compileall, pathlib, py_compile, shutil, sys, zipfile
shutil.copytree("/packages", "/compiled")
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
if not compileall.compile_dir("/compiled", quiet=1, legacy=True, optimize=1, invalidation_mode=mode):
    sys.exit("a module does not compile")
with zipfile.ZipFile("/site.zip", "w", zipfile.ZIP_DEFLATED) as packed:
    for path in sorted(pathlib.Path("/compiled").rglob("*")):
        if path.is_file() and path.suffix != ".py":
            name = str(path.relative_to("/compiled"))
            packed.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
`);
writeFileSync(out, python.FS.readFile("/site.zip"));
