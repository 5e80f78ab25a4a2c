// Lets the drawing library style what it makes under a policy without inline styles: its style
// elements bear the nonce of this page, and its style attributes are set as properties.
const nonce = document.querySelector('style[nonce]').nonce;
const create = document.createElement.bind(document);
document.createElement = (name, options) => {
  const made = create(name, options);
  if (String(name).toLowerCase() === 'style') made.nonce = nonce;
  return made;
};
const set = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === 'style' && this.style) this.style.cssText = value;
  else set.call(this, name, value);
};
