// Excerpts of search results when the site is read from a folder. The search fetches each page that
// it found, which browsers refuse between files; excerpts.js holds the texts of all pages instead.
if (window.location.protocol === "file:") {
  const root = document.documentElement.dataset.content_root;
  const suffix = DOCUMENTATION_OPTIONS.FILE_SUFFIX;
  window.fetch = (url) => {
    const name = String(url).slice(root.length, -suffix.length);
    return Promise.resolve(new Response(EXCERPTS[name] ?? ""));
  };
}
