// Fills the map of a sweep while it runs, and says how far it is.
const WORDS = {outside: 'running elsewhere', quiet: 'incomplete'};
const KINDS = {done: 'good', failed: 'bad', stopped: 'warning', quiet: 'warning'};
let told = -1;
let before = null;

addEventListener('sweep', ({detail}) => {
  const {progress, cells, legend, failures} = detail;
  const bar = document.getElementById('bar');
  bar.max = Math.max(1, progress.total);
  bar.value = progress.done;
  document.getElementById('progress').textContent = progress.text;
  const note = document.getElementById('progress-note');
  note.textContent = progress.note;
  note.hidden = !progress.note;
  const badge = document.querySelector('#state .badge');
  badge.textContent = WORDS[progress.state] || progress.state;
  badge.className = 'badge ' + (KINDS[progress.state] || 'plain');
  document.getElementById('stop').hidden = !progress.stop;
  const retry = document.getElementById('retry');
  if (retry) retry.hidden = progress.active || (progress.done === progress.total && !progress.failed);
  // What is read out: each tenth, and the end.
  const tenth = Math.floor(10 * progress.done / Math.max(1, progress.total));
  if (told >= 0 && tenth !== told) say(progress.text);
  told = tenth;
  for (const [id, [text, level, state, label]] of Object.entries(cells)) {
    const cell = document.getElementById(id);
    if (!cell || cell.title === label && cell.textContent === text && cell.dataset.level === String(level)) continue;
    const isNew = cell.title !== label;
    cell.textContent = text;
    cell.title = label;
    cell.setAttribute('aria-label', label);
    cell.dataset.level = String(level);
    cell.className = `cell ${state}${level === null ? '' : ' l' + level}`;
    if (isNew && before) { void cell.offsetWidth; cell.classList.add('fresh'); }
  }
  document.getElementById('ramp').hidden = !legend || legend[0] === legend[1];
  if (legend) {
    document.getElementById('low').textContent = legend[0];
    document.getElementById('high').textContent = legend[1];
  }
  document.getElementById('failures').hidden = failures.length === 0;
  const rows = failures.map(([key, where, seed, error]) => {
    const row = document.createElement('tr');
    const head = document.createElement('th');
    head.scope = 'row';
    const link = document.createElement('a');
    link.className = 'key';
    link.href = '/run?key=' + encodeURIComponent(key);
    link.textContent = key.slice(0, 8);
    head.append(link);
    row.append(head);
    for (const [text, kind] of [[where, ''], [seed, 'number'], [error, 'why']]) {
      const cell = document.createElement('td');
      cell.className = kind;
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  });
  const table = document.getElementById('failed-rows');
  if (rows.length !== table.rows.length) table.replaceChildren(...rows);
  // The menus and links of the page are made for what is known: after the first point, and at the end.
  const hasEnded = before && before.active && !progress.active;
  if (legend && !document.getElementById('map').dataset.known || hasEnded) location.reload();
  before = progress;
});
