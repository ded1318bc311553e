// ONNX files of fascia in ONNX Runtime: what it computes is what fascia computed.
// usage: node check_onnx.mjs CASE_FOLDER; 77: skipped, ONNX Runtime is not installed (tools/setup test)
// A case is NAME.onnx with NAME.json: {"inputs": {name: [numbers]}, "output": [numbers]}.
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = process.argv[2];
let ort;
try {
  const here = dirname(fileURLToPath(import.meta.url));
  ort = createRequire(join(here, "../onnx/package.json"))("onnxruntime-node");
} catch (e) {
  console.log(`check_onnx: ONNX Runtime is not installed (tools/setup test): ${e.message.split("\n")[0]}`);
  process.exit(77);
}
let cases = 0;
for (const file of readdirSync(folder).filter((f) => f.endsWith(".onnx")).sort()) {
  const { inputs, output } = JSON.parse(readFileSync(join(folder, file.replace(".onnx", ".json")), "utf8"));
  const session = await ort.InferenceSession.create(join(folder, file), { intraOpNumThreads: 1 });
  const feeds = {};
  for (const [name, x] of Object.entries(inputs)) feeds[name] = new ort.Tensor("float32", Float32Array.from(x), [1, x.length]);
  const got = (await session.run(feeds)).correction.data;
  let most = 0, off = 0;
  if (got.length !== output.length) throw new Error(`${file}: ${got.length} numbers, not ${output.length}`);
  output.forEach((v, i) => { most = Math.max(most, Math.abs(v)); off = Math.max(off, Math.abs(v - got[i])); });
  console.log(`${file}: ${output.length} numbers, ${(off / most).toExponential(1)} of the largest off`);
  if (!(most > 0 && off <= 1e-5 * most)) process.exit(1);
  cases++;
}
if (!cases) throw new Error(`no cases in ${folder}`);
