// The form for a new run: checked by the server while it is filled in, kept when a preset changes.
const form = document.getElementById('new');
const start = document.getElementById('start');
const KEPT = 'opennandlab-new';
let checks = 0;
let waiting = 0;

function filled() {
  const values = {};
  for (const one of form.querySelectorAll('[data-value]')) {
    const text = one.value.trim();
    if (text) values[one.name] = text;
    one.closest('.field').classList.toggle('set', Boolean(text));
  }
  const vary = [...form.querySelectorAll('[data-vary]')].map(key => [
    key.value.trim(), form.querySelector(`[data-values="${key.dataset.vary}"]`).value.trim(),
  ]);
  const text = id => document.getElementById(id)?.value.trim() || '';
  return {
    run: form.dataset.run, device: form.dataset.device, workload: form.dataset.workload, values,
    vary: vary.filter(([key, value]) => key || value), seeds: text('seeds'), seed: text('seed'), name: text('name'),
  };
}

function inputsOf(field) {
  if (field.startsWith('vary-')) return [...form.querySelectorAll(`[data-vary="${field.slice(5)}"], [data-values="${field.slice(5)}"]`)];
  return [...document.querySelectorAll(`[name="${CSS.escape(field)}"]`)];
}

function clear() {
  for (const one of document.querySelectorAll('[data-error]')) { one.hidden = true; one.textContent = ''; }
  for (const one of document.querySelectorAll('[aria-invalid]')) one.removeAttribute('aria-invalid');
}

// Shows an error at its field: the one whose key is the longest part of the path.
function show({field, message}, jump) {
  let name = field;
  let place = document.querySelector(`[data-error="${CSS.escape(name)}"]`);
  while (!place && name.includes('.')) {
    name = name.slice(0, name.lastIndexOf('.'));
    place = document.querySelector(`[data-error="${CSS.escape(name)}"]`);
  }
  const whole = document.getElementById('whole-error');
  if (!place) { place = whole; name = ''; }
  place.textContent = name && name === field || !field ? message : `${field}: ${message}`;
  place.hidden = false;
  const inputs = name ? inputsOf(name) : [];
  inputs.forEach(one => one.setAttribute('aria-invalid', 'true'));
  if (place !== whole) { whole.textContent = `${field}: ${message}`; whole.hidden = !jump; }
  if (jump && inputs.length) {
    inputs[0].closest('details')?.setAttribute('open', '');
    inputs[0].focus({preventScroll: true});
    inputs[0].scrollIntoView({block: 'center'});
  }
}

async function check() {
  const number = ++checks;
  const {ok, content} = await post('/api/check', filled());
  if (number !== checks) return;
  clear();
  const facts = document.getElementById('facts');
  const warnings = document.getElementById('warnings');
  facts.replaceChildren();
  warnings.replaceChildren();
  if (!ok) {
    const faults = [content, ...content.also || []];
    faults.forEach(one => show(one, false));
    const fields = faults.map(one => one.field).filter(Boolean);
    if (fields.length) facts.textContent = `Not ready yet: ${fields.join(', ')}`;
    return;
  }
  for (const [name, value] of content.facts) {
    const part = document.createElement('span');
    const strong = document.createElement('b');
    strong.textContent = value;
    part.append(name + ' ', strong);
    facts.append(part);
  }
  for (const text of content.warnings) {
    const row = document.createElement('li');
    row.textContent = text;
    warnings.append(row);
  }
  document.getElementById('name').placeholder = content.name;
  start.textContent = content.points === 1 ? 'Start the run' : `Start ${content.points} runs`;
}

function keep() {
  try { sessionStorage.setItem(KEPT, JSON.stringify(filled())); } catch { /* It is only a convenience. */ }
}

form.addEventListener('input', () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { keep(); check(); }, 350);
});
document.getElementById('presets').addEventListener('submit', keep);
form.addEventListener('submit', async event => {
  event.preventDefault();
  clearTimeout(waiting);
  ++checks;
  start.disabled = true;
  const {ok, content} = await post('/api/start', filled());
  start.disabled = false;
  if (ok) { try { sessionStorage.removeItem(KEPT); } catch { /* Nothing was kept. */ } location.assign(content.page); return; }
  clear();
  show(content, true);
});

// What was typed before a preset was changed.
try {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) || 'null');
  if (kept && kept.run === form.dataset.run) {
    for (const [name, value] of Object.entries(kept.values)) {
      const [one] = inputsOf(name);
      if (one) one.value = value;
    }
    kept.vary.forEach(([key, value], place) => {
      const input = form.querySelector(`[data-vary="${place}"]`);
      if (input) { input.value = key; form.querySelector(`[data-values="${place}"]`).value = value; }
    });
    for (const id of ['seeds', 'seed', 'name']) { const one = document.getElementById(id); if (one && kept[id]) one.value = kept[id]; }
  }
} catch { /* What was kept is of no use. */ }

// Finding a key among many.
document.getElementById('find')?.addEventListener('input', event => {
  const words = event.target.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const section of form.querySelectorAll('[data-section]')) {
    let inside = 0;
    for (const field of section.querySelectorAll('.field')) {
      const isHit = words.every(word => field.dataset.words.includes(word));
      field.hidden = !isHit;
      inside += isHit;
    }
    section.hidden = inside === 0;
    section.open = words.length > 0 && inside > 0;
    shown += inside;
  }
  document.getElementById('found').textContent = words.length ? `${shown} found` : '';
});
if (!form.dataset.needs) check();
