// Reports which runs have new events. One tab holds the stream for all tabs of a
// browser, because a browser opens at most six connections to a server. If that tab is
// closed, another takes over. The stream has only names of runs; each tab requests what
// it shows.
const channel = new BroadcastChannel("savant-live");
const listeners = new Set();
let state = "connecting"; // or open, retrying, closed
let holds = false; // whether this tab has the stream
let source = null;
let again = 0; // the timer of the next attempt
let silence = 0; // the timer of a stream that says nothing
let last = document.getElementById("main").dataset.now ?? ""; // id of the last message; a new stream begins after it

function hear(message) {
  if (message.kind === "hello") {
    if (holds) channel.postMessage({ kind: "state", state, last });
    return;
  }
  if (message.kind === "state") state = message.state;
  for (const each of listeners) each(message);
}

function tell(message) {
  channel.postMessage(message);
  hear(message);
}

// A hub that hangs, or a way to it that is gone, ends no stream: one that is silent for longer
// than the hub's message every 15 s is begun again.
const longest = 40_000;
function heard() {
  clearTimeout(silence);
  silence = setTimeout(() => { source?.close(); tell({ kind: "state", state: "retrying" }); open(); }, longest);
}

function open() {
  source = new EventSource(`/live?after=${encodeURIComponent(last)}`);
  heard();
  for (const kind of ["open", "here", "changed", "reset"]) source.addEventListener(kind, heard);
  source.addEventListener("open", () => tell({ kind: "state", state: "open" }));
  source.addEventListener("changed", (event) => { last = event.lastEventId; tell({ kind: "changed", runs: JSON.parse(event.data) }); });
  source.addEventListener("reset", (event) => { last = event.lastEventId; tell({ kind: "changed", runs: null }); });
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.CLOSED) return tell({ kind: "state", state: "retrying" });
    clearTimeout(silence);
    tell({ kind: "state", state: "closed" }); // the session has ended; another tab may start a new one
    again = setTimeout(open, 2000);
  });
}

let release = null; // releases the lock, so that another tab gets it
function hold() {
  holds = true;
  open();
  return new Promise((resolve) => { release = resolve; });
}

// start requests the lock. The tab holds it until it is closed or shows another page; a
// browser may keep the old page for "back". Without locks, as over plain HTTP from
// another machine, each tab has its own stream.
function start() {
  channel.postMessage({ kind: "hello" });
  if (navigator.locks) navigator.locks.request("savant-live", hold);
  else open();
}

function stop() {
  clearTimeout(again);
  clearTimeout(silence);
  source?.close();
  source = null;
  holds = false;
  release?.();
}

let started = false;
function startOnce() {
  if (started) return;
  started = true;
  channel.addEventListener("message", (event) => hear(event.data));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) start(); });
  start();
}

// listen calls a function with each message: {kind: "state", state} and {kind:
// "changed", runs}, where runs is a list of names, or null if any run may have changed.
export function listen(listener) {
  listeners.add(listener);
  startOnce();
  listener({ kind: "state", state });
}
