// Shows other versions and steps of a run without loading the page again. The server
// renders them; without this script each link and form loads a page.
let loading = null;

// load replaces the element "moment" by that of another address of this page. If it
// fails, it opens that address. With unasked it throws instead.
async function load(address, push, unasked) {
  if (loading) loading.abort();
  const own = loading = new AbortController();
  let answer;
  try {
    answer = await fetch(address, { signal: own.signal, credentials: "same-origin" });
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = parsed.getElementById("moment");
    if (!answer.ok || !next) throw new Error("not a page of a run");
    const shown = document.getElementById("moment");
    const focused = identity(document.activeElement);
    const scrolled = places(shown);
    shown.replaceWith(next);
    restore(next, focused, scrolled);
    reveal(next);
    if (!new URL(address, location.href).searchParams.has("version")) follow(parsed);
    if (push) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch (failed) {
    if (own.signal.aborted) return;
    if (unasked) throw failed;
    location.assign(address); // the browser shows what is wrong
  }
}

// reveal scrolls the graph until it shows the selected step, else an issued one, else a
// failed one.
function reveal(shown) {
  const frame = shown.querySelector(".scroll");
  const inner = (kind) => [...shown.querySelectorAll(`.node.${kind}`)].find((node) => !node.querySelector(`.node.${kind}`));
  const box = (inner("selected") ?? inner("issued") ?? inner("failed"))?.querySelector(".box").getBoundingClientRect();
  if (!box) return;
  const edge = frame.getBoundingClientRect();
  if (box.left < edge.left || box.right > edge.right) frame.scrollLeft += (box.left + box.right - edge.left - edge.right) / 2;
  if (box.top < edge.top || box.bottom > edge.bottom) frame.scrollTop += (box.top + box.bottom - edge.top - edge.bottom) / 2;
}

// identity returns what identifies a control, so that restore finds it in the new page.
function identity(element) {
  if (!element || !element.closest("#moment")) return null;
  return { id: element.id, label: element.getAttribute("aria-label"), text: element.textContent };
}

function places(shown) {
  return [...shown.querySelectorAll(".scroll")].map((each) => [each.scrollLeft, each.scrollTop]);
}

function restore(next, focused, scrolled) {
  next.querySelectorAll(".scroll").forEach((each, i) => { if (scrolled[i]) [each.scrollLeft, each.scrollTop] = scrolled[i]; });
  if (!focused) return;
  const same = [...next.querySelectorAll("a, input, button, select")].find((each) =>
    focused.id ? each.id === focused.id : each.getAttribute("aria-label") === focused.label && each.textContent === focused.text);
  const selected = next.querySelector(".node.selected > a");
  (same || selected)?.focus({ preventScroll: true });
}

// addressOf returns the address that a form requests.
function addressOf(form) {
  const address = new URL(form.getAttribute("action") || "", location.href);
  address.search = new URLSearchParams(new FormData(form)).toString();
  return address;
}

const first = document.getElementById("moment");
if (first) reveal(first);

let waiting = 0;
document.addEventListener("input", (event) => {
  if (event.target.id !== "version") return;
  const output = document.getElementById("version-shown");
  output.value = `v${event.target.value} of v${event.target.max}`;
  clearTimeout(waiting);
  waiting = setTimeout(() => load(addressOf(event.target.form), false), 60);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.closest("#moment") || form.method !== "get") return;
  event.preventDefault();
  load(addressOf(form), true);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("#moment a");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const address = new URL(link.getAttribute("href"), location.href);
  if (address.pathname !== location.pathname || address.origin !== location.origin) return;
  event.preventDefault();
  load(address, true);
});

window.addEventListener("popstate", () => load(new URL(location.href), false));

// A page of a run's latest version follows the run: while it is visible, it asks the
// hub for the version once a second.
const live = document.getElementById("run-live");
let known = live?.dataset.version;

// follow updates the parts beside the graph. A form that somebody is filling in stays.
function follow(parsed) {
  known = parsed.getElementById("run-live")?.dataset.version ?? known;
  for (const id of ["facts", "outcome", "asked", "history"]) {
    const shown = document.getElementById(id), next = parsed.getElementById(id);
    if (shown && next && !busy(shown)) shown.replaceWith(next);
    else if (shown && next && shown.innerText !== next.innerText) live.textContent = "The run has moved on: load the page again to see what it asks now.";
  }
}

// busy reports whether somebody is filling in a form or has opened one.
function busy(shown) {
  return shown.contains(document.activeElement) || shown.querySelector(".act[open], .ask details[open]") !== null ||
    [...shown.querySelectorAll("input, textarea, select")].some((each) => each.type === "checkbox" || each.type === "radio" ? each.checked !== each.defaultChecked
      : each.tagName === "SELECT" ? ![...each.options].every((option) => option.selected === option.defaultSelected || !each.querySelector("[selected]")) : each.value !== each.defaultValue);
}

// away means that the page shows a problem with the connection to the hub.
let away = false;

function tell(text) {
  if (text === "" && !away) return; // keep the message about the run
  away = text !== "";
  live.textContent = text;
}

// look asks for the version; one request at a time. If the page cannot be loaded, the
// present one stays and the next look tries again.
let looking = false;
async function look() {
  if (looking || document.visibilityState !== "visible" || new URLSearchParams(location.search).has("version")) return;
  looking = true;
  try {
    const answer = await fetch(`${live.dataset.at}/version`, { credentials: "same-origin" });
    if (answer.status === 401) return tell("The session has ended. Open the link that savant hub prints.");
    if (answer.status === 404) return tell("The run is gone: it was deleted. What is shown is how it stood.");
    if (!answer.ok) return tell("The hub cannot read the run. Load the page again to see why.");
    const { version } = await answer.json();
    if (String(version) !== known) await load(new URL(location.href), false, true);
    tell("");
  } catch {
    tell("The hub does not answer. Trying again…");
  } finally {
    looking = false;
  }
}

if (live) setInterval(look, 1000);
