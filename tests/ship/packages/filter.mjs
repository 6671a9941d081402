// SPDX-License-Identifier: MIT
// sqlite-cuckoo/filter from the installed package, as a module and by require; the examples of the package's README.
import fs from 'fs';
import { createRequire } from 'module';
import { build, open } from 'sqlite-cuckoo/filter';

const required = createRequire(import.meta.url)('sqlite-cuckoo/filter');
const bytes = build(['ada', 'bob', 42]).bytes();
const filter = open(required.build(['ada', 'bob', 42]).bytes());
const same = Buffer.compare(filter.bytes(), bytes) === 0 && filter.contains('ada') && filter.contains(42n) && !filter.contains('eve');

const readme = fs.readFileSync('node_modules/sqlite-cuckoo/README.md', 'utf8');
for (const [i, [, example]] of [...readme.matchAll(/```js\n(import { open, build[^]*?)```/g)].entries()) {
  fs.writeFileSync(`example${i}.mjs`, example);
  await import(new URL(`example${i}.mjs`, import.meta.url));
}
if (!same) throw new Error('the filters differ');
