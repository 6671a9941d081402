#!/bin/sh
# SPDX-License-Identifier: MIT
# workerd (npm workerd 1.20261117.1, the runtime of Cloudflare Workers) compiles WebAssembly from bytes while a worker
# starts, and refuses it in a handler: the compatibility flag allow_eval_during_startup, on since 2025-06-01. A library that
# compiles at its first call so works in a test at module level, and fails in every request. A module that is imported from
# a .wasm file works in both.
# Needs node and npm. Exits with 1 when the behaviour is another one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-audit --no-fund --loglevel=error --prefix "$folder" workerd@1.20261117.1 > /dev/null 2>&1
cat > worker.mjs <<'END'
import module from './empty.wasm';
const bytes = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
const compile = () => {
  try {
    return String(new WebAssembly.Module(bytes));
  } catch (error) {
    return String(error);
  }
};
const atStart = compile();
export default {
  test() {
    console.log(`at startup: ${atStart}`);
    console.log(`in a handler: ${compile()}`);
    console.log(`imported: ${new WebAssembly.Instance(module)}`);
  }
};
END
printf '\000asm\001\000\000\000' > empty.wasm
for date in 2025-05-31 2025-06-01; do
    cat > worker.capnp <<END
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = (compatibilityDate = "$date", modules = [
    (name = "worker.mjs", esModule = embed "worker.mjs"), (name = "./empty.wasm", wasm = embed "empty.wasm")]))]);
END
    echo "$date"
    node_modules/.bin/workerd test worker.capnp 2>&1 | grep -oE '(at startup|in a handler|imported): .*'
done | tee said
cat > expected <<'END'
2025-05-31
at startup: CompileError: WebAssembly.Module(): Wasm code generation disallowed by embedder
in a handler: CompileError: WebAssembly.Module(): Wasm code generation disallowed by embedder
imported: [object WebAssembly.Instance]
2025-06-01
at startup: [object WebAssembly.Module]
in a handler: CompileError: WebAssembly.Module(): Wasm code generation disallowed by embedder
imported: [object WebAssembly.Instance]
END
diff expected said
