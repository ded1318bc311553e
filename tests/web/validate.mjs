// node validate.mjs FILE... : run the Khronos glTF validator on each file; one line each, exit 1 if any has an error.
// --list prints every message; a FILE named @PATH holds one file name per line.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let validator;
try {
  validator = require('gltf-validator');
} catch {
  console.error('gltf-validator is not installed: run tools/setup');
  process.exit(77);
}

const args = process.argv.slice(2);
const list = args.includes('--list');
const files = args
  .filter((a) => !a.startsWith('--'))
  .flatMap((a) => (a.startsWith('@') ? readFileSync(a.slice(1), 'utf8').split('\n').filter(Boolean) : [a]));

let bad = 0;
for (const file of files) {
  const bytes = new Uint8Array(readFileSync(file));
  const report = await validator.validateBytes(bytes, {
    uri: file,
    maxIssues: 10000,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(resolve(dirname(file), decodeURIComponent(uri)))),
  });
  const { numErrors, numWarnings, messages } = report.issues;
  if (numErrors) bad++;
  console.log(`${numErrors} errors, ${numWarnings} warnings: ${file}`);
  for (const m of messages)
    if (list || m.severity === 0) console.log(`  ${['error', 'warning', 'info', 'hint'][m.severity]} ${m.code} ${m.pointer ?? ''}: ${m.message}`);
}
process.exit(bad ? 1 : 0);
