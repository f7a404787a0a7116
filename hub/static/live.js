// Tells which runs have new events. One tab of a browser holds the stream for all of its
// tabs, since a browser has six connections to a server; when that tab is closed, another
// takes over. A tab is told names of runs only, and asks for what it shows.
const channel = new BroadcastChannel("savant-live");
const listeners = new Set();
let state = "connecting"; // or open, retrying, closed
let holds = false; // whether this tab has the stream
let source = null;
let again = 0; // the timer of the next try
let last = ""; // the place of the last message: a stream that is made anew begins there

function hear(message) {
  if (message.kind === "hello") {
    if (holds) channel.postMessage({ kind: "state", state });
    return;
  }
  if (message.kind === "state") state = message.state;
  for (const each of listeners) each(message);
}

function tell(message) {
  channel.postMessage(message);
  hear(message);
}

function open() {
  source = new EventSource(last === "" ? "/live" : `/live?after=${encodeURIComponent(last)}`);
  source.addEventListener("open", () => tell({ kind: "state", state: "open" }));
  source.addEventListener("changed", (event) => { last = event.lastEventId; tell({ kind: "changed", runs: JSON.parse(event.data) }); });
  source.addEventListener("reset", (event) => { last = event.lastEventId; tell({ kind: "changed", runs: null }); });
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.CLOSED) return tell({ kind: "state", state: "retrying" });
    tell({ kind: "state", state: "closed" }); // the session has ended; a new one may come from another tab
    again = setTimeout(open, 2000);
  });
}

let release = null; // gives the lock to another tab
function hold() {
  holds = true;
  open();
  return new Promise((resolve) => { release = resolve; });
}

// The lock is held until the tab is closed or shows another page, which a browser may keep
// for the way back. Without locks, as over plain HTTP from another machine, each tab has
// its own stream.
function start() {
  channel.postMessage({ kind: "hello" });
  if (navigator.locks) navigator.locks.request("savant-live", hold);
  else open();
}

function stop() {
  clearTimeout(again);
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

// listen calls a function with each message: {kind: "changed", runs: names, or null for
// any} and {kind: "state", state}.
export function listen(listener) {
  listeners.add(listener);
  startOnce();
  listener({ kind: "state", state });
}
