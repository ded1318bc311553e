// Bundles the viewer into one HTML template: node web/build.mjs OUT.html
// The data goes where the template says <!--FASCIA-DATA-->; nothing is loaded from anywhere else.
import * as esbuild from 'esbuild';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node web/build.mjs OUT.html');
  process.exit(2);
}
const { outputFiles } = await esbuild.build({
  entryPoints: [join(here, 'viewer.js')],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  legalComments: 'inline', // three.js's licence notice stays in the page
  charset: 'utf8',
  write: false,
});
// a closing tag inside the script would end it
const script = outputFiles[0].text.replaceAll('</script', '<\\/script');
const style = readFileSync(join(here, 'viewer.css'), 'utf8');
const html = readFileSync(join(here, 'viewer.html'), 'utf8')
  .replace('<!--FASCIA-STYLE-->', () => `<style>${style}</style>`)
  .replace('<!--FASCIA-SCRIPT-->', () => `<script>${script}</script>`);
writeFileSync(out, html);
