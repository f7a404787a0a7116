// Keeps a page as the hub has it. When a run that the page follows has changed, the page
// is requested again, and what differs is replaced where it stands: the focus, the place,
// texts that somebody is writing and what was unfolded stay. Without this script a page
// is as it was when it was loaded.
import { listen } from "./live.js";

const main = document.getElementById("main");
const note = document.getElementById("live-note");
const silent = "The hub does not answer. Trying again…";

const here = document.querySelector(".top nav [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - 24; // a phone shows a part of the menu

// say shows a message at the top of the page, wherever that is scrolled to.
export function say(text) {
  if (note.textContent !== text) note.textContent = text;
  note.hidden = text === "";
}

// changed reports whether somebody has changed a field.
function changed(field) {
  if (["hidden", "submit", "range"].includes(field.type)) return false;
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.tagName === "SELECT") return [...field.options].some((each) => each.selected !== each.defaultSelected) && !(field.selectedIndex === 0 && !field.querySelector("[selected]"));
  return field.value !== field.defaultValue;
}

// filledIn reports whether somebody is writing in a form, or has.
function filledIn(form) {
  const fields = [...form.elements].filter((each) => each.matches("input, textarea, select"));
  return fields.some((each) => changed(each) || (each === document.activeElement && each.type !== "range"));
}

// leave removes an element. A text that somebody was writing in it stays there to be
// copied.
function leave(element) {
  const texts = [...element.querySelectorAll("textarea, input[type=text], input:not([type])")].filter(changed);
  if (texts.length === 0) return element.remove();
  const section = document.createElement("section");
  section.className = "ask gone";
  section.dataset.own = "";
  const said = document.createElement("p");
  said.setAttribute("role", "alert");
  said.textContent = "This is no longer asked: it was answered elsewhere, or the run continued. What you wrote was not sent:";
  section.append(said);
  for (const each of texts) {
    const copy = document.createElement("textarea");
    copy.readOnly = true;
    copy.value = each.value;
    copy.setAttribute("aria-label", "What you wrote");
    section.append(copy);
  }
  element.replaceWith(section);
}

// keyOf is what tells an element from its siblings; isOwn means that a script made it.
const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "");
const isOwn = (node) => node.dataset?.own !== undefined;

// fits reports whether one node may become another.
function fits(old, next) {
  return old.nodeType === next.nodeType && old.nodeName === next.nodeName && keyOf(old) === keyOf(next);
}

// become turns an element into another one by the fewest changes.
function become(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  if (isOwn(old) || old.isEqualNode(next)) return;
  if (old.tagName === "FORM" && (main.dataset.refused !== undefined || filledIn(old))) return;
  const untouched = "value" in old && !(old.matches("input, textarea, select") && changed(old));
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && !(name === "open" && old.tagName === "DETAILS")) old.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value && !(name === "open" && old.tagName === "DETAILS")) old.setAttribute(name, value);
  }
  becomeAll(old, next);
  if (untouched && old.matches("input:not([type=file]), textarea") && old.value !== next.value) old.value = next.value;
}

function becomeAll(old, next) {
  const keyed = new Map([...old.children].filter(keyOf).map((each) => [keyOf(each), each]));
  const kept = new Set([...next.children].map(keyOf).filter(Boolean));
  let at = old.firstChild;
  const pass = () => { const passed = at; at = at.nextSibling; return passed; };
  for (const each of next.childNodes) {
    while (at && (isOwn(at) ? !isOwn(each) && !kept.has(keyOf(at)) : keyOf(at) && !kept.has(keyOf(at)))) {
      const passed = pass();
      if (!isOwn(passed)) remove(passed);
    }
    const key = keyOf(each);
    let same = null;
    if (key) {
      same = keyed.get(key);
      if (same && !fits(same, each)) same = null;
      while (same && at && at !== same && !keyOf(at) && !isOwn(at)) remove(pass());
      if (same === at && same) pass();
      else if (same) old.insertBefore(same, at);
    } else {
      let ahead = at;
      while (ahead && !keyOf(ahead) && !isOwn(ahead) && !fits(ahead, each)) ahead = ahead.nextSibling;
      if (ahead && !keyOf(ahead) && fits(ahead, each) && (ahead === at || each.nodeType === Node.ELEMENT_NODE)) {
        while (at !== ahead) remove(pass());
        same = pass();
      }
    }
    if (same) become(same, each);
    else old.insertBefore(document.importNode(each, true), at);
  }
  while (at) {
    const passed = pass();
    if (!isOwn(passed)) remove(passed);
  }
}

function remove(node) {
  if (node.nodeType === Node.ELEMENT_NODE) leave(node);
  else node.remove();
}

// The parts that other scripts complete after each replacement.
const after = [];
export const afterwards = (complete) => { after.push(complete); complete(); };

let loading = null;

// load shows an address of this page in place. A page that does not come leaves the
// present one: it throws.
export async function load(address) {
  if (loading) loading.abort();
  const own = loading = new AbortController();
  const answer = await fetch(address, { signal: own.signal, credentials: "same-origin" });
  const text = await answer.text();
  if (own.signal.aborted) return false;
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const next = parsed.getElementById("main");
  if (answer.status === 401) throw new Error("The session has ended. Open the link that savant hub prints.");
  if (answer.status === 404) throw new Error("The run is gone: it was deleted. What is shown is how it stood.");
  if (!answer.ok || !next) throw new Error("The hub cannot read this page. Load it again to see why.");
  becomeAll(main, next);
  document.title = parsed.title;
  for (const each of after) each();
  loading = null;
  return true;
}

// On request the browser tells of a new question to a person, also while the tab is
// hidden.
const wish = document.getElementById("notify");
const asked = () => [...main.querySelectorAll("#inbox .ask, .ask[id^=asked]")];
const notifies = () => Boolean(wish) && localStorage.getItem("savant-notify") === "yes" && Notification.permission === "granted";
if (wish && "Notification" in window) {
  const button = wish.querySelector("button"), told = wish.querySelector("span");
  const show = () => {
    button.setAttribute("aria-pressed", String(notifies()));
    told.textContent = Notification.permission === "denied" ? "The browser does not allow this page to notify you." : "";
  };
  button.addEventListener("click", async () => {
    localStorage.setItem("savant-notify", notifies() ? "no" : "yes");
    if (Notification.permission === "default") await Notification.requestPermission();
    show();
  });
  let known = new Set(asked().map((each) => each.id));
  afterwards(() => {
    const now = asked();
    for (const each of now) if (!known.has(each.id) && notifies()) new Notification("Savant asks you", { body: each.getAttribute("aria-label") ?? each.querySelector("h2").textContent, tag: each.id });
    known = new Set(now.map((each) => each.id));
  });
  show();
  wish.hidden = false;
}

// One request at a time, and none while the tab is hidden. A request is followed by a
// pause of many times its length, so that an open page costs a writer next to nothing.
const share = 30, least = 100;
let behind = false, busy = false;

async function refresh() {
  if (!behind || busy || loading || (document.visibilityState !== "visible" && !notifies()) || main.dataset.live === undefined) return;
  if (new URLSearchParams(location.search).has("version")) return; // it is of the past
  busy = true;
  behind = false;
  const began = performance.now();
  let pause = least;
  try {
    await load(location.href);
    say("");
    pause = Math.max(least, Math.min(5000, share * (performance.now() - began)));
  } catch (failed) {
    if (failed.name !== "AbortError") {
      behind = true;
      pause = 1000;
      say(failed instanceof TypeError ? silent : failed.message);
    }
    loading = null;
  }
  setTimeout(() => { busy = false; refresh(); }, pause);
}

// newer reports whether the id of a message comes after that of a page.
function newer(last, now) {
  const [epoch, ...numbers] = last.split("."), [other, ...others] = now.split(".");
  return epoch !== other || numbers.some((each, i) => Number(each) > Number(others[i]));
}

if (main.dataset.live !== undefined) {
  const live = main.dataset.live;
  let state = "connecting";
  const come = () => { behind = true; refresh(); };
  listen((message) => {
    if (message.kind === "state") {
      if (message.state === "retrying") say(silent);
      if (message.state === "closed") say("The session has ended. Open the link that savant hub prints.");
      if (message.state === "open" && state !== "open" && state !== "connecting") come();
      else if (message.state === "open") say("");
      if (message.last && newer(message.last, main.dataset.now)) come();
      state = message.state;
    } else if (live === "any" || message.runs === null || live.split(" ").some((each) => message.runs.includes(each))) come();
  });
  document.addEventListener("visibilitychange", come);
  for (const change of ["offline", "online"]) addEventListener(change, come); // a hub on this machine needs no network
  addEventListener("pageshow", (event) => { if (event.persisted) come(); });
  setInterval(come, 15000); // what no file says: a process that has ended, an engine's state
}

// Times are the reader's: how long ago in lists and facts, exactly where order matters;
// pointing at one shows it in the reader's zone.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
function ago(at) { // a clock that is ahead of the reader's writes what has yet to come
  const passed = (Date.now() - at) / 60000, minutes = Math.abs(passed);
  if (minutes >= 30 * 24 * 60) return at.toLocaleDateString();
  for (const [unit, length] of [["d", 24 * 60], ["h", 60], ["min", 1]]) if (minutes >= length) return `${passed < 0 ? "in " : ""}${Math.floor(minutes / length)} ${unit}${passed < 0 ? "" : " ago"}`;
  return "just now";
}
function tellTimes() {
  for (const each of main.querySelectorAll("time[datetime]:not(.events time, .details time)")) {
    const at = new Date(each.dateTime);
    if (isNaN(at)) continue;
    each.title = exact.format(at);
    if (!each.closest("#history, #moment, .pair")) each.textContent = ago(at);
  }
}
afterwards(tellTimes);
setInterval(tellTimes, 30000);
const zone = document.getElementById("zone");
if (zone) zone.textContent = `exact times: on hover, in ${exact.resolvedOptions().timeZone}; others in UTC`;

// whyUnsent says why a form cannot be sent now: the page, and what was written in it, would
// be gone.
const most = 512;
function whyUnsent(form, button) {
  if (note.textContent === silent) return "the hub does not answer";
  const long = form.enctype !== "multipart/form-data" && new URLSearchParams(new FormData(form, button)).toString().length > most << 10;
  return long ? `it has more than ${most} kB, which a form may have. At a terminal a value can be a file: @FILE` : "";
}

// A form is sent once: a second click would find what the first has changed.
const unsent = document.createElement("p");
unsent.className = "wrong text";
unsent.setAttribute("role", "alert");
unsent.dataset.own = "";
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  const why = whyUnsent(form, event.submitter);
  if (why) {
    event.preventDefault();
    unsent.textContent = `Nothing was sent: ${why}. What you wrote stays here.`;
    return form.append(unsent);
  }
  if (form.dataset.again !== undefined) return;
  if (form.dataset.sent !== undefined) return event.preventDefault();
  form.dataset.sent = "";
});
addEventListener("pageshow", () => { for (const each of document.forms) delete each.dataset.sent; });

// A value can be copied as it stands.
if (navigator.clipboard) {
  afterwards(() => {
    for (const each of main.querySelectorAll("pre")) {
      if (each.nextElementSibling?.matches(".copy") || each.textContent.length < 20 || each.closest(".code, [data-own]")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.dataset.own = "";
      button.textContent = "Copy";
      each.after(button);
    }
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// Escape closes the form that has the focus and gives the focus to what opened it.
document.addEventListener("keydown", (event) => {
  const open = event.key === "Escape" && event.target.closest(".act[open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
});
