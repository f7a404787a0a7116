// Shows the events of a run as they are written. The rows come from the server, from the
// template that the page is made of. Without this script the page is as it was loaded.
const list = document.getElementById("events");
const bar = document.getElementById("live");
const button = document.getElementById("live-switch");
const said = document.getElementById("live-state");

// maxRows bounds what a page keeps: the server has the rest.
const maxRows = 1000;

let wanted = false; // what the switch says
let source = null;
let after = ""; // the place of the last row, in the trace
let left = 0;   // rows that were taken off the page

function say(text) { said.textContent = text; }

function add(markup) {
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 40;
  list.append(...parsed.body.children);
  while (list.childElementCount > maxRows) {
    list.firstElementChild.remove();
    left++;
  }
  if (left > 0) say(`Live. ${left} earlier rows are on earlier pages.`);
  if (atEnd) window.scrollTo(0, document.documentElement.scrollHeight);
}

function open() {
  const address = new URL(bar.dataset.live, location.href);
  if (after !== "") address.searchParams.set("after", after);
  source = new EventSource(address);
  source.addEventListener("open", () => say("Live."));
  source.addEventListener("row", (event) => { after = event.lastEventId; add(event.data); });
  source.addEventListener("lost", () => say("Live. Some events are gone from the trace: refresh the page."));
  source.addEventListener("error", () => {
    say(source.readyState === EventSource.CLOSED ? "Not live: the session has ended. Open the link that savant hub prints." : "The hub does not answer. Trying again…");
  });
  say("Connecting…");
}

function close() {
  if (source) source.close();
  source = null;
  say("");
}

// follow opens the stream while it is wanted and seen. A hidden page holds none: a browser
// has six for all its tabs. Shown again, it goes on after its last row.
function follow() {
  const seen = document.visibilityState === "visible";
  if (wanted && seen && !source) open();
  if (!(wanted && seen)) close();
}

function turn(live) {
  wanted = live;
  button.setAttribute("aria-pressed", String(live));
  button.textContent = live ? "Live: on" : "Live: off";
  follow();
}

if (bar && list) {
  bar.hidden = false;
  button.addEventListener("click", () => turn(!wanted));
  document.addEventListener("visibilitychange", follow);
  turn(true);
}
