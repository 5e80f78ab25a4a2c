// What every page has: menus that take effect at once, copying, posting, and what changes meanwhile.
const csrf = document.querySelector('meta[name=csrf]').content;
const said = document.getElementById('said');

function say(text) { said.textContent = text; }

// Posts JSON; returns status and content, with a sentence where the server is away.
async function post(path, body) {
  try {
    const answer = await fetch(path, {
      method: 'POST', body: JSON.stringify(body),
      headers: {'content-type': 'application/json', accept: 'application/json', 'x-opennandlab': csrf},
    });
    const text = await answer.text();
    let content;
    try { content = JSON.parse(text); } catch { content = {field: '', message: text.trim()}; }
    return {ok: answer.ok, content};
  } catch {
    return {ok: false, content: {field: '', message: 'The server does not answer: was it ended?'}};
  }
}

function trouble(text) {
  const place = document.getElementById('trouble');
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

for (const menu of document.querySelectorAll('select[data-auto]'))
  menu.addEventListener('change', () => menu.form.requestSubmit());

// Filters and the like are folded in a narrow window, and always open in a wide one.
const narrow = matchMedia('(max-width: 46rem)');
function fold() { for (const one of document.querySelectorAll('details.fold')) one.open = !narrow.matches; }
narrow.addEventListener('change', fold);
fold();

// Addresses stay short: what is empty is not asked for, nor are columns that nobody changed.
for (const form of document.querySelectorAll('form[method=get]'))
  form.addEventListener('formdata', event => {
    const data = event.formData;
    const boxes = [...form.querySelectorAll('.picker [type=checkbox]')];
    if (boxes.every(one => one.checked === one.defaultChecked) && !data.getAll('show').at(-1)) {
      const asked = new URLSearchParams(location.search);
      for (const name of ['col', 'show']) {
        data.delete(name);
        asked.getAll(name).forEach(value => data.append(name, value));
      }
    }
    for (const name of new Set(data.keys())) {
      const values = data.getAll(name).filter(value => value !== '');
      data.delete(name);
      values.forEach(value => data.append(name, value));
    }
  });

// Escape closes what was opened last, and the focus goes back to what opened it.
document.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return;
  const open = event.target.closest(narrow.matches ? 'details[open]' : 'details[open]:not(.fold)') || document.querySelector('details.picker[open]');
  if (!open) return;
  open.open = false;
  open.querySelector('summary').focus();
});

document.addEventListener('click', async event => {
  const copy = event.target.closest('[data-copy]');
  if (copy) {
    const text = copy.previousElementSibling;
    try { await navigator.clipboard.writeText(text.textContent); } catch {
      getSelection().selectAllChildren(text);
      document.execCommand('copy');
    }
    copy.textContent = 'Copied';
    say('Copied');
    setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
  }
  const button = event.target.closest('[data-post]');
  if (button) {
    button.disabled = true;
    const {ok, content} = await post(button.dataset.post, {name: button.dataset.name});
    button.disabled = false;
    if (!ok) trouble(content.message);
    else if (content.page) location.assign(content.page);
    else if (document.body.dataset.page !== '/live' && !document.getElementById('map')) location.reload();
    else say('It is told to stop.');
  }
});

// The runs that are chosen, also while the table is renewed.
const results = document.getElementById('results');
const chosen = new Set();
function counted() {
  const button = document.getElementById('compare');
  if (!button) return;
  button.disabled = chosen.size < 2;
  document.getElementById('unpick').hidden = chosen.size === 0;
  document.getElementById('tagging').hidden = chosen.size === 0;
  document.getElementById('chosen').textContent =
    chosen.size ? `${chosen.size} chosen` : 'Choose two runs or more.';
}
results?.addEventListener('change', event => {
  if (event.target.name !== 'key') return;
  if (event.target.checked) chosen.add(event.target.value);
  else chosen.delete(event.target.value);
  counted();
});
document.getElementById('unpick')?.addEventListener('click', () => {
  chosen.clear();
  for (const box of results.querySelectorAll('[name=key]')) box.checked = false;
  counted();
});
// Tags and notes are kept at once; the table renews itself.
async function remark(body, text) {
  const {ok, content} = await post('/api/remark', body);
  trouble(ok ? '' : content.message);
  if (ok) say(text);
  return ok;
}
async function tag() {
  const input = document.getElementById('tag');
  const name = input.value.trim();
  if (!name || !await remark({keys: [...chosen], add: name}, `${chosen.size} tagged ${name}`)) return;
  input.value = '';
  renew();
}
document.getElementById('add-tag')?.addEventListener('click', tag);
document.getElementById('tag')?.addEventListener('keydown', event => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  tag();
});
document.getElementById('remark')?.addEventListener('submit', async event => {
  event.preventDefault();
  const {key, tags, note} = Object.fromEntries(new FormData(event.target));
  const state = document.getElementById('remark-state');
  state.textContent = '';
  if (await remark({keys: [key], tags, note}, 'Saved')) state.textContent = 'Saved.';
});
document.getElementById('picked')?.addEventListener('formdata', event => {
  event.formData.delete('key');
  chosen.forEach(key => event.formData.append('key', key));
});
for (const box of results?.querySelectorAll('[name=key]:checked') || []) chosen.add(box.value);
counted();

// Fetches the table again; focus and what is chosen stay.
const markOf = one => one.value || one.dataset.name || one.getAttribute('href');
let isRenewing = false;
let isStale = false;
async function renew() {
  if (!results || !results.dataset.live.includes('part=1')) return;
  if (isRenewing) { isStale = true; return; }
  isRenewing = true;
  try {
    const answer = await fetch(results.dataset.live, {headers: {accept: 'text/html'}});
    if (answer.ok) {
      const here = document.activeElement;
      const mark = results.contains(here) && markOf(here);
      results.innerHTML = await answer.text();
      for (const box of results.querySelectorAll('[name=key]')) box.checked = chosen.has(box.value);
      if (mark) [...results.querySelectorAll('a, input, button')].find(one => markOf(one) === mark)?.focus();
    }
  } catch { /* The stream of events says that the server is away. */ }
  setTimeout(() => { isRenewing = false; if (isStale) { isStale = false; renew(); } }, 1000);
}

// Events of the server, while the page is seen: a browser keeps only a few connections.
const pill = document.getElementById('jobs');
const map = document.getElementById('map');
let source = null;
let count = null;
let isAway = false;
function listen() {
  if (source || document.hidden) return;
  source = new EventSource(map ? map.dataset.events : '/events');
  source.addEventListener('open', () => { if (isAway) { isAway = false; trouble(''); } });
  source.addEventListener('trouble', event => trouble(JSON.parse(event.data).text));
  source.addEventListener('store', event => {
    const now = JSON.parse(event.data).count;
    if (count !== null && now !== count) {
      renew();
      if (document.querySelector('[data-await]')) location.reload();
      if (document.querySelector('.empty') && document.body.dataset.page === '/') location.reload();
    }
    count = now;
  });
  source.addEventListener('jobs', event => {
    const {text, active} = JSON.parse(event.data);
    const check = document.querySelector('[data-checking]');
    if (check && !active.includes(check.dataset.checking)) location.reload();
    pill.hidden = !text;
    pill.querySelector('.text').textContent = text;
    if (document.body.dataset.page === '/live') renew();
  });
  source.addEventListener('sweep', event => window.dispatchEvent(new CustomEvent('sweep', {detail: JSON.parse(event.data)})));
  source.addEventListener('full', () => { source.close(); });
  source.addEventListener('error', () => {
    isAway = true;
    setTimeout(() => { if (isAway && !document.hidden) trouble('The server does not answer: was it ended? This page tries again.'); }, 1500);
  });
}
function rest() { source?.close(); source = null; }
document.addEventListener('visibilitychange', () => document.hidden ? rest() : listen());
addEventListener('pagehide', rest);
addEventListener('pageshow', listen);
listen();
