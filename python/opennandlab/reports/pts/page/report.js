// Draws each figure when it comes near the screen, and keeps at most six in three dimensions alive,
// because a browser gives a page only so many drawing contexts; the others show their static form.
const LIVE_MAX = 6;
const live = [];
const inView = new Set();

function settle(figure) {
  Plotly.purge(figure.querySelector('.plot'));
  figure.dataset.state = 'static';
  live.splice(live.indexOf(figure), 1);
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
  const data = JSON.parse(document.getElementById(figure.dataset.figure).textContent);
  const narrow = document.documentElement.clientWidth < 640;
  if (narrow) {
    data.layout.height = Math.min(data.layout.height, 'depth' in figure.dataset ? 400 : 380) +
      (data.layout.showlegend ? 60 : 0);
    data.layout.font.size = 11;
    data.layout.margin = {...data.layout.margin, l: 54, r: 8};
    const camera = data.layout.scene && data.layout.scene.camera;
    // A narrow screen shows the same box from further away.
    if (camera) for (const axis of ['x', 'y', 'z']) camera.eye[axis] *= 1.4;
  }
  Plotly.newPlot(figure.querySelector('.plot'), data.data, data.layout,
    {responsive: true, displaylogo: false, modeBarButtonsToRemove: ['sendDataToCloud', 'lasso2d', 'select2d']})
    .then(() => { figure.dataset.state = 'drawn'; window.dispatchEvent(new Event('resize')); });
}

const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) {
    if (entry.isIntersecting) { inView.add(entry.target); draw(entry.target); }
    else inView.delete(entry.target);
  }
}, {rootMargin: '500px 0px'});
document.querySelectorAll('figure[data-figure]').forEach(figure => watcher.observe(figure));
