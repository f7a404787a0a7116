// The events of a run. The list contains only visible rows and requests more as it is
// scrolled. New events appear live, and an event opens in the panel beside the list.
// The server renders the rows with the page's own template. Without this script the
// page shows one page of events.
import { listen } from "./live.js";

const list = document.getElementById("events");
const panel = document.getElementById("details");

const narrow = matchMedia("(max-width: 40rem)");
const heightOf = () => (narrow.matches ? 56 : 32); // as in hub.css
let rowHeight = heightOf();
const chunkSize = 60; // rows in one request, as on a page
const maxChunks = 20; // chunks to keep
const beyond = 15; // rows above and below the visible ones

class Rows {
  constructor(scroller, list) {
    this.scroller = scroller;
    this.list = list;
    this.epoch = list.dataset.epoch;
    this.found = Number(list.dataset.found);
    this.chunks = new Map(); // by number; the most recently used is last
    this.asked = new Set();
    this.shown = new Map(); // elements by the number of their row
    this.atEnd = true;
    this.wanted = null; // number of the row that will get the focus
    this.changed = () => {};
    const there = [...list.children]; // the loaded page's rows are one chunk
    if (there.length > 0) this.chunks.set(Math.floor((there[0].value - 1) / chunkSize), there.map((each) => each.outerHTML));
    list.replaceChildren();
    scroller.classList.add("scrolls");
    scroller.setAttribute("aria-describedby", "event-keys");
    scroller.addEventListener("keydown", (event) => this.key(event));
    scroller.addEventListener("scroll", () => {
      this.atEnd = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - rowHeight;
      requestAnimationFrame(() => this.draw());
    });
    new ResizeObserver(() => { this.settle(); this.draw(); }).observe(scroller);
    this.resize();
  }

  resize() { this.list.style.height = `${Math.max(this.found, 1) * rowHeight}px`; }

  forget() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
  }

  // settle scrolls to the end if the end was visible.
  settle() { if (this.atEnd) this.scroller.scrollTop = this.scroller.scrollHeight; }

  show(number) {
    this.atEnd = false;
    this.scroller.scrollTop = Math.max(0, number * rowHeight - this.scroller.clientHeight / 2);
    this.draw();
  }

  // key moves the focus among the rows, so that they are a single stop for Tab.
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.found === 0) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / rowHeight) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const on = document.activeElement.closest("#events > .row");
    const first = Math.ceil(this.scroller.scrollTop / rowHeight); // first visible row
    this.focus(on ? on.value - 1 + by : Math.abs(by) === 1 ? first : first + by);
  }

  // focus scrolls to a row and gives it the focus once it is loaded.
  focus(number) {
    this.wanted = Math.min(this.found - 1, Math.max(0, number));
    const top = this.wanted * rowHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + rowHeight > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = top + rowHeight - this.scroller.clientHeight;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / rowHeight) - beyond);
    const end = Math.min(this.found, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / rowHeight) + beyond);
    for (const [number, element] of this.shown) {
      if ((number < first || number >= end) && !element.contains(document.activeElement)) {
        element.remove();
        this.shown.delete(number);
      }
    }
    for (let number = first; number < end; number++) {
      if (this.shown.has(number)) continue;
      const rows = this.chunk(Math.floor(number / chunkSize));
      const markup = rows?.[number % chunkSize];
      if (markup === undefined) continue;
      this.shown.set(number, this.place(number, markup));
    }
    if (this.wanted === null || !this.scroller.contains(document.activeElement)) return;
    const link = this.shown.get(this.wanted)?.querySelector("a");
    if (!link) return;
    this.wanted = null;
    link.focus({ preventScroll: true });
  }

  // place inserts a row in the order of numbers, so that screen readers read it in
  // order.
  place(number, markup) {
    const row = new DOMParser().parseFromString(markup, "text/html").body.firstElementChild;
    row.style.top = `${number * rowHeight}px`;
    row.setAttribute("aria-posinset", number + 1);
    row.setAttribute("aria-setsize", this.found);
    row.querySelector("a").tabIndex = -1;
    mark(row.querySelector("a"));
    let next = null;
    for (const [other, element] of this.shown) {
      if (other > number && (next === null || other < next.number)) next = { number: other, element };
    }
    this.list.insertBefore(row, next?.element ?? null);
    return row;
  }

  // chunk returns the rows of a chunk that are loaded, and requests the chunk if rows
  // are missing.
  chunk(number) {
    const rows = this.chunks.get(number);
    const wanted = Math.min(chunkSize, this.found - number * chunkSize);
    if (rows) {
      this.chunks.delete(number);
      this.chunks.set(number, rows);
    }
    if (!rows || rows.length < wanted) this.ask(number).catch(() => {}); // requested again when the hub is back
    return rows;
  }

  // ask requests the rows of a chunk that are not loaded.
  async ask(number) {
    if (this.asked.has(number)) return;
    this.asked.add(number);
    try {
      const loaded = this.chunks.get(number) ?? [];
      const address = new URL(this.list.dataset.rows, location.href);
      address.searchParams.set("from", number * chunkSize + loaded.length);
      address.searchParams.set("count", chunkSize - loaded.length);
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(answer.statusText);
      this.take(number, loaded, await answer.json());
    } finally {
      this.asked.delete(number);
    }
    this.draw();
  }

  // take adds the rows that follow those loaded of a chunk. After old events were
  // removed, numbers have changed: then all rows are requested again.
  take(number, loaded, sent) {
    const renumbered = sent.epoch !== this.epoch;
    if (renumbered) {
      this.epoch = sent.epoch;
      this.chunks.clear();
      this.forget();
    }
    if (!renumbered || loaded.length === 0) this.chunks.set(number, [...loaded, ...sent.rows]);
    while (this.chunks.size > maxChunks) this.chunks.delete(this.chunks.keys().next().value);
    if (sent.found !== this.found) {
      this.found = sent.found;
      this.resize();
      this.settle();
    }
    this.changed(sent);
  }

  // refresh requests the last chunk. The response also has the number of events.
  refresh() { return this.ask(Math.floor(this.found / chunkSize)); }
}

const says = { connecting: "Connecting…", open: "Connected.", retrying: "The hub does not answer. Trying again…",
  closed: "Not live: the session has ended. Open the link that savant hub prints." };

function follow(rows) {
  const bar = document.getElementById("live");
  const button = document.getElementById("live-switch");
  const said = document.getElementById("live-state");
  const counted = document.getElementById("live-count");
  let wanted = true;
  let state = "connecting";
  let behind = false; // the run has changed since the last request
  let asking = false;

  const say = (text) => { if (said.textContent !== text) said.textContent = text; };
  rows.changed = (sent) => {
    if (sent.found > 0) document.getElementById("no-event")?.remove();
    counted.textContent = `${sent.found.toLocaleString("en")} of ${sent.total.toLocaleString("en")} events`;
  };

  // One request at a time, and none while the tab is hidden. The load on the server
  // does not depend on how many events are written.
  async function catchUp() {
    if (!behind || asking || !wanted || document.visibilityState !== "visible") return;
    asking = true;
    behind = false;
    try {
      await rows.refresh();
    } catch {
      behind = true; // the next message tries again
    }
    asking = false;
    if (behind && state === "open") setTimeout(catchUp, 500);
  }

  function turn(live) {
    wanted = live;
    button.setAttribute("aria-pressed", String(live));
    button.textContent = live ? "Live: on" : "Live: off";
    say(live ? says[state] : "");
    catchUp();
  }

  listen((message) => {
    if (message.kind === "state") {
      if (message.state === "open" && state !== "open") behind = true; // events may have been missed
      state = message.state;
      if (wanted) say(says[state]);
    } else if (message.runs === null || message.runs.includes(list.dataset.run)) {
      behind = true;
    }
    catchUp();
  });
  // A tab that was hidden or left may have missed messages. One that was frozen was
  // hidden before.
  function back() {
    behind = true;
    catchUp();
  }
  document.addEventListener("visibilitychange", back);
  addEventListener("pageshow", (event) => { if (event.persisted) back(); });
  button.addEventListener("click", () => turn(!wanted));
  bar.hidden = false;
  turn(true);
}

// The panel's event is in the address, so that it can be linked to and the browser's
// back and forward work.
const chosen = () => new URLSearchParams(location.search).get("event") ?? "";

function mark(link) {
  if (link.dataset.place === chosen()) link.setAttribute("aria-current", "true");
  else link.removeAttribute("aria-current");
}

async function fill() {
  for (const link of document.querySelectorAll("a[data-place]")) mark(link);
  const place = chosen();
  if (place === "") {
    panel.hidden = true;
    return;
  }
  const answer = await fetch(`${panelAddress}${location.search}`);
  if (!answer.ok || place !== chosen()) return;
  const filled = new DOMParser().parseFromString(await answer.text(), "text/html").body.firstElementChild;
  panel.replaceChildren(...filled.childNodes);
  panel.hidden = false;
  panel.scrollTop = 0;
}

const panelAddress = `${location.pathname}/event`;

// turnTo shows another event, or none. On closing, the focus returns to the event's
// row.
function turnTo(place) {
  const before = chosen();
  const query = new URLSearchParams(location.search);
  if (place) query.set("event", place);
  else query.delete("event");
  query.set("view", "timeline");
  history.pushState(null, "", `?${query}`);
  if (!place) (document.querySelector(`a[data-place="${CSS.escape(before)}"]`) ?? document.getElementById("scroller"))?.focus({ preventScroll: true });
  fill();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden && event.target.closest(".split")) turnTo("");
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-place], a[data-close]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  turnTo(link.dataset.place ?? "");
});
addEventListener("popstate", fill);

if (list) {
  const rows = new Rows(document.getElementById("scroller"), list);
  document.querySelector(".pager")?.remove(); // the list shows all events
  narrow.addEventListener("change", () => {
    rowHeight = heightOf();
    rows.forget();
    rows.resize();
    rows.draw();
  });
  const at = Number(list.dataset.at);
  if (at > 0) rows.show(at - 1);
  else rows.settle();
  rows.draw();
  follow(rows);
}
