// SPDX-License-Identifier: MIT
/*
 * What the page shows. A filter lives in a worker of its own (worker.js): a new one takes its place only when it has been opened
 * or built, so a file that is refused leaves the filter that is shown.
 */
(() => {
  'use strict';
  @WORDS@

  const $ = (id) => document.getElementById(id);
  const CHUNK = 1 << 22, MOST = 0x7fffffff; // bytes of a file that are read at a time, and altogether
  const COUNTED = 1 << 28; // bytes of the largest filter whose buckets are all counted
  const COLUMNS = 32, SHADES = 8; // of the picture, and of its colours beyond empty

  /* An element with its text and children. */
  function make(name, text = '', attributes = {}, ...children) {
    const element = document.createElement(name);
    element.append(...(text === '' ? [] : [text]), ...children);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  /* ---- workers ---- */

  /* A filter to be: `call(task, given)` asks it, `close()` ends it. */
  function engine(tell) {
    const source = $('worker').textContent, waiting = new Map();
    let last = 0, send, close;
    const hear = ({ id, done, error, step, at, of }) => {
      if (step) return tell(step, at, of);
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      return error === undefined ? resolve(done) : reject(new Error(error));
    };
    try {
      const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' })), worker = new Worker(address);
      worker.onmessage = ({ data }) => hear(data);
      worker.onerror = (event) => waiting.forEach(({ reject }) => reject(new Error(`The worker failed: ${event.message}`)));
      send = (message) => worker.postMessage(message, message.bytes ? [message.bytes.buffer] : []);
      close = () => (worker.terminate(), URL.revokeObjectURL(address));
    } catch {
      document.head.append(make('script', source));
      const { answerHere } = globalThis;
      send = (message) => setTimeout(answerHere, 0, message, hear);
      close = () => {};
    }
    return {
      close,
      call: (task, given = {}) => new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject });
        send({ ...given, id: last, task });
      })
    };
  }

  let shown; // {engine, name, info, regions}: the filter on the page
  let coming; // the engine of the one that is being opened or built
  let before; // where the focus was when that began

  /* ---- what is said ---- */

  function say(text) {
    $('news').textContent = text;
  }

  function complain(text) {
    $('alert').hidden = !text;
    $('alert').textContent = text;
    if (!text) return;
    say('');
    $('alert').scrollIntoView({ block: 'nearest' });
  }

  function wait(on) {
    $('wait').hidden = !on;
    $('progress').removeAttribute('value');
    $('share').textContent = '';
    if (on) $('news').scrollIntoView({ block: 'nearest' });
  }

  /* ---- opening and building ---- */

  /* In the page, since some browsers let no worker read a file. */
  async function read(file, tell) {
    if (file.size > MOST) throw new Error(`The file has ${n(file.size)} bytes; the limit is 2 GB.`);
    const bytes = new Uint8Array(file.size);
    for (let at = 0; at < file.size; at += CHUNK) {
      bytes.set(new Uint8Array(await file.slice(at, at + CHUNK).arrayBuffer()), at);
      tell('Reading', at, file.size);
    }
    return bytes;
  }

  async function come(name, task, file, given) {
    if (coming) coming.close();
    const tell = (step, at, of) => {
      $('share').textContent = `${step} ${name}: ${percent(at, of)}`; // not read aloud: it changes often
      $('progress').value = at / of;
    };
    const mine = coming = engine(tell);
    before = document.activeElement;
    complain('');
    say(`${task === 'open' ? 'Opening' : 'Building'} ${name}`);
    wait(true);
    try {
      const bytes = await read(file, (...how) => coming === mine && tell(...how));
      if (coming !== mine) return;
      const found = await mine.call(task, { ...given, bytes });
      if (coming !== mine) return;
      settle();
      if (found.list) return void (mine.close(), takeList(file));
      if (shown) shown.engine.close();
      shown = { engine: mine, name, ...found };
      showFilter();
    } catch (error) {
      if (coming !== mine) return;
      settle();
      mine.close();
      complain(`${name}: ${error.message}${shown ? ` The filter shown below is still ${shown.name}.` : ''}`);
    }
  }

  function settle() {
    coming = undefined;
    wait(false);
  }

  /* A list was opened as if it were a filter: it goes where lists go. */
  function takeList(file) {
    const files = new DataTransfer();
    files.items.add(file);
    $('list').files = files.files;
    $('blob').value = '';
    say(`${file.name} is a list, not a filter. Press Build to make a filter of its lines.`);
    $('build-it').focus();
  }

  function buildIt(event) {
    event.preventDefault();
    const file = $('list').files[0], typed = new Blob([$('lines').value]);
    come(file ? file.name : 'your list', 'build', new Blob(file ? [typed, file] : [typed]),
      { kind: $('lines-kind').value, fpr: Number($('fpr').value), typed: typed.size });
  }

  /* ---- the filter ---- */

  function showFilter() {
    const { name, info } = shown, exact = isExact(info);
    $('filter').hidden = $('skip').hidden = false;
    $('name').textContent = document.title = name;
    $('summary').textContent = `${exact ? `Exact: ${counted(info.members, 'member')} of ` : ''}${counted(exact ? info.keys : info.items, 'key')} in ${counted(info.bytes, 'byte')}: ${FEW.format(info.bits_per_key)} bits per key`;
    $('answer').replaceChildren();
    $('buckets').replaceChildren();
    showFigures('running');
    $('picture-card').hidden = exact;
    if (!exact) showPicture();
    $('name').focus();
    if (shown.info.bytes <= COUNTED) return count();
    say(`Ready: ${name}.`);
    return showFigures('skipped, because the filter is so large; in SQL, use cf_check(filter)');
  }

  /* Takes seconds for each 10 MB, so a second worker does it with a copy. */
  async function count() {
    const mine = shown, counter = engine(() => {}), began = Date.now();
    const end = () => (clearInterval(ticking), counter.close());
    const ticking = setInterval(() => {
      if (shown !== mine) return end(); // another filter took its place
      showFigures(`running for ${counted(Math.round((Date.now() - began) / 1000), 'second')}`);
    }, 1000);
    say(`Ready: ${mine.name}. The whole filter is being checked.`);
    try {
      await counter.call('open', { bytes: await mine.engine.call('save') });
      const { info, check } = await counter.call('count');
      if (shown !== mine) return;
      mine.info = info;
      showFigures(check === 'ok' ? 'ok' : `corrupt: ${check}`);
      if (check === 'ok') return say(`Ready: ${mine.name}. The whole filter was checked and is ok.`);
      complain(`${mine.name} is corrupt: ${check}. Its answers may be wrong. Restore it from a backup, or rebuild it.`);
    } catch (error) {
      if (shown === mine) complain(error.message);
    } finally {
      end();
    }
  }

  function showFigures(check) {
    $('figures').replaceChildren(...figuresOf(shown.info, check).map(([name, figure]) => make('div', '', {}, make('dt', name), make('dd', figure))));
  }

  /* ---- the picture: a square for a region ---- */

  const shade = (used, slots) => (used === 0 ? 0 : used === slots ? SHADES : 1 + Math.floor((SHADES - 1) * used / slots));

  function square(x, y, kind, inset = 0) {
    const rect = document.createElementNS($('picture').namespaceURI, 'rect'), side = 0.9 - 2 * inset;
    Object.entries({ x: x + 0.05 + inset, y: y + 0.05 + inset, width: side, height: side, class: kind })
      .forEach(([key, value]) => rect.setAttribute(key, value));
    return rect;
  }

  function showPicture() {
    const { regions, info } = shown, columns = Math.min(COLUMNS, Math.max(8, Math.ceil(Math.sqrt(regions.length))));
    const sampled = regions.some((region) => region.counted < region.buckets);
    $('picture').setAttribute('viewBox', `0 0 ${columns} ${Math.ceil(regions.length / columns)}`);
    $('picture').replaceChildren(...regions.map(({ used, slots }, i) => square(i % columns, Math.floor(i / columns), `s${shade(used, slots)}`)));
    $('legend').replaceChildren('empty ', ...Array.from({ length: SHADES + 1 }, (_, i) => make('i', '', { class: `s${i}` })), ' full');
    const shares = regions.map(({ used, slots }) => used / slots);
    const size = regions.length === info.buckets ? 'Each square is a bucket' : `Each square is a region of about ${n(Math.round(info.buckets / regions.length))} buckets`;
    $('picture-words').textContent = `${size}, in order, row by row${sampled ? `; the first ${regions[0].counted} of each are counted` : ''}. ` +
      `The load factor is at least ${percent(Math.min(...shares), 1)} and at most ${percent(Math.max(...shares), 1)}.`;
    $('rows').replaceChildren(...rowsOf(regions).map((row) => make('tr', '', {}, make('th', row[0], { scope: 'row' }), ...row.slice(1).map((cell) => make('td', cell)))));
  }

  function markBuckets(buckets) {
    const svg = $('picture'), columns = svg.viewBox.baseVal.width;
    svg.querySelectorAll('.mark').forEach((mark) => mark.remove());
    for (const { bucket } of buckets) {
      const after = shown.regions.findIndex((region) => region.bucket > bucket), i = (after < 0 ? shown.regions.length : after) - 1;
      svg.append(square(i % columns, Math.floor(i / columns), 'mark', -0.1));
    }
  }

  /* ---- a key ---- */

  function slotOf(entry, i, name = `Slot ${i}`) {
    const kind = entry ? (entry.matches ? 'hit' : 'other') : 'empty';
    const words = entry ? [make('code', entry.fingerprint), make('span', entry.matches ? 'matches' : 'differs')] : [make('span', 'empty')];
    return make('li', '', { class: kind }, make('span', name, { class: 'slot' }), ' ', words[0], ...(words[1] ? [' ', words[1]] : []));
  }

  function bucketsOf({ buckets }) {
    const older = buckets.some(({ bits, slots, stashed }) => [...slots, ...stashed].some((entry) => entry && entry.bits < bits));
    const grown = make('p', 'The filter has grown: older entries have fewer bits, the lowest ones, and match when these are equal.');
    return [...(older ? [grown] : []), ...buckets.map(bucketOf)];
  }

  function bucketOf({ bucket, fingerprint, bits, slots, stashed }, i, all) {
    const title = `${all.length === 1 ? 'The only bucket' : i === 0 ? 'First bucket' : 'Second bucket'}: ${n(bucket)}`;
    return make('section', '', {}, make('h4', title),
      make('p', '', {}, 'In this bucket the fingerprint of the key is ', make('code', fingerprint), ` (${bits} bits, in hexadecimal).`,
        i > 0 ? ' A key has a different fingerprint in each of its two buckets.' : ''),
      make('ol', '', { role: 'list' }, ...slots.map((entry, slot) => slotOf(entry, slot)), ...stashed.map((entry, line) => slotOf(entry, line, 'Stash'))));
  }

  async function ask(event) {
    event.preventDefault();
    if (!shown) return;
    const mine = shown, written = $('key').value, kind = $('key-kind').value, key = spelled(written, kind);
    $('key').removeAttribute('aria-invalid');
    try {
      const found = await mine.engine.call('ask', { written, kind });
      if (shown !== mine) return;
      const reasons = reasonsFor(found, key, mine.info);
      if (kind === 'text' && !found.found && mine.info.affinity === 'none' && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(written)) {
        reasons.push(`The number ${written.trim()} is a different key from this text.`);
      }
      $('answer').replaceChildren(make('p', `${verdict(found, mine.info)}: ${key}.`, { class: found.found ? 'yes' : 'no' }),
        ...reasons.map((reason) => make('p', reason)));
      $('buckets').replaceChildren(...bucketsOf(found));
      if (found.buckets.length) markBuckets(found.buckets);
    } catch (error) {
      if (shown !== mine) return;
      $('key').setAttribute('aria-invalid', 'true');
      $('answer').replaceChildren(make('p', error.message, { class: 'alert' }));
      $('buckets').replaceChildren();
      $('picture').querySelectorAll('.mark').forEach((mark) => mark.remove());
    }
  }

  async function save() {
    const { engine: asked, name } = shown, bytes = await asked.call('save'), link = make('a');
    link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
    link.download = /\.filter$/.test(name) ? name : `${name === 'your list' ? 'list' : name.replace(/\.\w+$/, '')}.filter`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say(`Saved as ${link.download}: ${counted(bytes.length, 'byte')}.`);
  }

  /* ---- what the user does ---- */

  const openFile = (file) => file && come(file.name, 'open', file);

  $('open').addEventListener('submit', (event) => event.preventDefault());
  $('blob').addEventListener('click', () => ($('blob').value = '')); // the same file may be chosen again
  $('blob').addEventListener('change', () => openFile($('blob').files[0]));
  $('build').addEventListener('submit', buildIt);
  $('ask').addEventListener('submit', ask);
  $('save').addEventListener('click', save);
  $('stop').addEventListener('click', () => {
    coming.close();
    settle();
    before.focus();
    say('Stopped.');
  });
  addEventListener('dragover', (event) => {
    event.preventDefault();
    document.body.classList.add('over');
  });
  addEventListener('dragleave', (event) => event.relatedTarget || document.body.classList.remove('over'));
  addEventListener('drop', (event) => {
    event.preventDefault();
    document.body.classList.remove('over');
    const [file] = event.dataTransfer.files, text = event.dataTransfer.getData('text');
    if (file) return openFile(file);
    if (text) $('lines').value = text;
  });
})();
