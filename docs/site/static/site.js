// What a checker of accessibility misses in the theme's pages: the level of the side bar's captions, and
// the keyboard's way into boxes that scroll sideways.
const mend = () => {
  for (const caption of document.querySelectorAll(".caption[role=heading]")) {
    caption.setAttribute("aria-level", "2");
  }
  for (const box of document.querySelectorAll("article pre, article .table-wrapper")) {
    box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
  }
};
window.addEventListener("load", mend);
window.addEventListener("resize", mend);
