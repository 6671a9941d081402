// SPDX-License-Identifier: MIT
// sqlite-cuckoo/filter from the installed package, as a module and by require; the example of the package's README.
import fs from 'fs';
import { createRequire } from 'module';
import { build, open } from 'sqlite-cuckoo/filter';

const required = createRequire(import.meta.url)('sqlite-cuckoo/filter');
const bytes = build(['ada', 'bob', 42]).bytes();
const filter = open(required.build(['ada', 'bob', 42]).bytes());
const same = Buffer.compare(filter.bytes(), bytes) === 0 && filter.contains('ada') && filter.contains(42n) && !filter.contains('eve');

const [, example] = /```js\n(import { open, build }[^]*?)```/.exec(fs.readFileSync('node_modules/sqlite-cuckoo/README.md', 'utf8'));
fs.writeFileSync('example.mjs', example);
await import(new URL('example.mjs', import.meta.url));
if (!same) throw new Error('the filters differ');
