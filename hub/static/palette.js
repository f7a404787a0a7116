// Single keys: k opens a palette of what the page offers, / goes to its search, r shows
// the raw texts beside the formatted ones. They do nothing while somebody types, and can be
// turned off in the palette; Ctrl-K opens it in any case.
const main = document.getElementById("main");
const off = () => localStorage.getItem("single-keys") === "off";

const dialog = document.createElement("dialog");
dialog.id = "palette";
dialog.setAttribute("aria-label", "Go to, or do");
const field = document.createElement("input");
const list = document.createElement("ul");
list.id = "palette-list";
list.setAttribute("role", "listbox");
list.setAttribute("aria-label", "What the page offers");
for (const [name, value] of Object.entries({ type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": list.id, "aria-autocomplete": "list", "aria-label": "Go to, or do", autocomplete: "off", spellcheck: "false" })) field.setAttribute(name, value);
dialog.append(field, list);
document.body.append(dialog);

const words = (element) => (element.getAttribute("aria-label") ?? element.textContent).replace(/\s+/g, " ").trim();
const reach = (element) => { element.scrollIntoView({ block: "center" }); element.focus(); };

function toggleRaw() {
  const texts = [...main.querySelectorAll("details.raw, details.formatted")];
  const open = texts.every((each) => each.open);
  for (const each of texts) each.open = !open;
}

function search() { main.querySelector("input[type=search]")?.focus(); }

// offers are the entries: what they are called, of which kind they are, and what they do.
// A button is only reached: pressing it is a decision of its own.
function offers() {
  const found = [];
  const add = (text, kind, act) => { if (text && !found.some((each) => each.text === text && each.kind === kind)) found.push({ text: text.slice(0, 120), kind, act }); };
  for (const each of document.querySelectorAll(".top nav a")) add(words(each), "page", () => each.click());
  for (const each of main.querySelectorAll("button, summary, h2, a[href]")) {
    if (!each.checkVisibility() || each.closest("[data-own], #events, svg, .shown")) continue;
    if (each.matches("button")) add(words(each), "button", () => reach(each));
    else if (each.matches("summary")) add(words(each), "fold", () => { each.parentElement.open = true; reach(each); });
    else if (each.matches("h2")) { if (!each.closest("summary")) add(words(each), "part", () => { each.tabIndex = -1; reach(each); }); }
    else add(words(each), "link", () => each.click());
  }
  if (main.querySelector("details.raw, details.formatted")) add("Raw texts on or off", "key r", toggleRaw);
  if (main.querySelector("input[type=search]")) add("Search in this page's list", "key /", search);
  add("Print this page", "page", () => print());
  add(off() ? "Turn single keys on" : "Turn single keys off", "keys", () => localStorage.setItem("single-keys", off() ? "on" : "off"));
  return found;
}

let all = [], shown = [], at = 0;

function draw() {
  const wanted = field.value.toLowerCase().split(/\s+/);
  shown = all.filter((each) => wanted.every((word) => each.text.toLowerCase().includes(word) || each.kind.includes(word))).slice(0, 60);
  at = Math.min(at, Math.max(0, shown.length - 1));
  list.replaceChildren(...shown.map((each, i) => {
    const row = document.createElement("li");
    row.id = `palette-${i}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", i === at);
    const kind = document.createElement("span");
    kind.className = "kind";
    kind.textContent = each.kind;
    row.append(`${each.text} `, kind);
    row.addEventListener("click", () => take(i));
    return row;
  }));
  if (shown.length === 0) field.removeAttribute("aria-activedescendant");
  else field.setAttribute("aria-activedescendant", `palette-${at}`);
  list.children[at]?.scrollIntoView({ block: "nearest" });
}

function take(i) {
  dialog.close();
  shown[i]?.act();
}

function open() {
  if (dialog.open) return;
  all = offers();
  field.value = "";
  at = 0;
  dialog.showModal();
  draw();
  field.focus();
}

field.addEventListener("input", () => { at = 0; draw(); });
dialog.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by !== undefined && shown.length > 0) {
    at = (at + by + shown.length) % shown.length;
    draw();
  } else if (event.key === "Enter") take(at);
  else if (event.key === "Escape") dialog.close();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

const button = document.createElement("button");
button.type = "button";
button.className = "palette-opens";
button.textContent = "Go to… k";
button.setAttribute("aria-keyshortcuts", "k Control+K");
button.addEventListener("click", open);
document.querySelector(".top").append(button);

document.addEventListener("keydown", (event) => {
  if (dialog.open || event.defaultPrevented) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); return open(); }
  if (off() || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const act = { k: open, r: toggleRaw, "/": search }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
