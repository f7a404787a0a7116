// Shows other versions and steps of a run without loading the page again. The server
// renders them; without this script each link and form loads a page.
import { afterwards, load } from "./page.js";

// go shows another address of this page; if that fails, the browser opens it and shows
// what is wrong.
async function go(address, push) {
  try {
    if (!(await load(address))) return;
  } catch (failed) {
    if (failed.name !== "AbortError") location.assign(address);
    return;
  }
  if (push) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

let shown = ""; // the step that the graph was scrolled to

// reveal scrolls the graph until it shows the selected step, else an issued one, else a
// failed one.
function reveal() {
  const moment = document.getElementById("moment");
  const frame = moment?.querySelector(".scroll");
  if (!frame) return;
  const inner = (kind) => [...moment.querySelectorAll(`.node.${kind}`)].find((node) => !node.querySelector(`.node.${kind}`));
  const node = inner("selected") ?? inner("issued") ?? inner("failed");
  const name = node?.querySelector("a").getAttribute("href");
  if (!node || name === shown) return;
  shown = name;
  const box = node.querySelector(".box").getBoundingClientRect();
  const edge = frame.getBoundingClientRect();
  if (box.left < edge.left || box.right > edge.right) frame.scrollLeft += (box.left + box.right - edge.left - edge.right) / 2;
  if (box.top < edge.top || box.bottom > edge.bottom) frame.scrollTop += (box.top + box.bottom - edge.top - edge.bottom) / 2;
}
afterwards(reveal);

// addressOf returns the address that a form requests.
function addressOf(form) {
  const address = new URL(form.getAttribute("action") || "", location.href);
  address.search = new URLSearchParams(new FormData(form)).toString();
  return address;
}

let waiting = 0;
document.addEventListener("input", (event) => {
  if (event.target.id !== "version") return;
  const output = document.getElementById("version-shown");
  output.value = `v${event.target.value} of v${event.target.max}`;
  clearTimeout(waiting);
  waiting = setTimeout(() => go(addressOf(event.target.form), false), 60);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.closest("#moment") || form.method !== "get") return;
  event.preventDefault();
  go(addressOf(form), true);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("#moment a");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.hasAttribute("download")) return;
  const address = new URL(link.getAttribute("href"), location.href);
  if (address.pathname !== location.pathname || address.origin !== location.origin) return;
  event.preventDefault();
  go(address, true);
});

window.addEventListener("popstate", () => go(new URL(location.href), false));
