// Draws each figure when it comes near the screen, and keeps at most six in three dimensions alive,
// because a browser gives a page only so many drawing contexts; the others show their static form.
// Colours are looked up in the variables of the style, and again when the reader's setting changes.
const LIVE_MAX = 6;
const live = [];
const inView = new Set();
const dark = matchMedia('(prefers-color-scheme: dark)');
const narrowed = matchMedia('(max-width: 639.98px)');
const drawnFor = () => `${dark.matches} ${narrowed.matches}`;

function coloured(value, style) {
  if (typeof value === 'string')
    return /^#[0-9a-f]{6}$/.test(value) && style.getPropertyValue('--c-' + value.slice(1)).trim() || value;
  if (Array.isArray(value)) return value.map(one => coloured(one, style));
  if (value && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, coloured(one, style)]));
  return value;
}

function put(layout, path, value) {
  const keys = path.split('.');
  const last = keys.pop();
  let place = layout;
  for (const key of keys) place = place[key] = place[key] || {};
  place[last] = value;
}

function settle(figure) {
  Plotly.purge(figure.querySelector('.plot'));
  figure.dataset.state = 'static';
  if (live.includes(figure)) live.splice(live.indexOf(figure), 1);
}

function draw(figure) {
  if (figure.dataset.state === 'drawn' || figure.dataset.state === 'drawing') return;
  if ('depth' in figure.dataset) {
    while (live.length >= LIVE_MAX) {
      const idle = live.find(other => !inView.has(other));
      if (!idle) return;
      settle(idle);
    }
    live.push(figure);
  }
  figure.dataset.state = 'drawing';
  figure.dataset.look = drawnFor();
  const style = getComputedStyle(document.documentElement);
  const made = JSON.parse(document.getElementById(figure.dataset.figure).textContent);
  const {data, layout, narrow} = {...made, data: coloured(made.data, style), layout: coloured(made.layout, style)};
  layout.template = coloured(JSON.parse(document.getElementById('template').textContent), style);
  if (narrowed.matches) {
    layout.template.layout.font.size = 11;
    for (const [path, value] of Object.entries(narrow)) put(layout, path, value);
  }
  Plotly.newPlot(figure.querySelector('.plot'), data, layout,
    {responsive: true, displaylogo: false, modeBarButtonsToRemove: ['lasso2d', 'select2d']})
    .then(() => { figure.dataset.state = 'drawn'; window.dispatchEvent(new Event('resize')); });
}

// Says of a table that is wider than the screen that it scrolls.
function hint() {
  document.querySelectorAll('.hint').forEach(text => {
    const wide = text.nextElementSibling;
    text.classList.toggle('is-cut', wide.scrollWidth > wide.clientWidth + 1);
  });
}
hint();
addEventListener('resize', hint);
document.addEventListener('toggle', hint, true);

// On a phone the set-up of a test is two screens long: it is folded there, and printed as a whole.
const setUps = [...document.querySelectorAll('.set-up[open]')];
const foldSetUps = () => setUps.forEach(part => { part.open = !narrowed.matches; });
if (narrowed.matches) foldSetUps();
narrowed.addEventListener('change', foldSetUps);
addEventListener('beforeprint', () => setUps.forEach(part => { part.open = true; }));

const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) {
    if (entry.isIntersecting) { inView.add(entry.target); draw(entry.target); }
    else inView.delete(entry.target);
  }
}, {rootMargin: '500px 0px'});
document.querySelectorAll('figure[data-figure]').forEach(figure => watcher.observe(figure));
// Colours, and the layout of a narrow screen, are chosen when a figure is drawn. What changes for a
// moment only, as when a browser takes a picture of a page, leaves them alone.
const redraw = () => document.querySelectorAll('figure[data-state=drawn]').forEach(figure => {
  if (figure.dataset.look === drawnFor()) return;
  settle(figure);
  if (inView.has(figure)) draw(figure);
});
dark.addEventListener('change', redraw);
narrowed.addEventListener('change', () => setTimeout(redraw, 50));
addEventListener('beforeprint', () => {
  if (document.body.dataset.print === 'numbers') document.querySelectorAll('details').forEach(part => { part.open = true; });
});
