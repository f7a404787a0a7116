"use strict";
const TYPE = "application/vnd.in-toto+json", HEX = /^[0-9a-f]{40}([0-9a-f]{24})?$/, PLACEHOLDER = /"(redacted:[0-9a-f]{64})"/g;
const MAY_HIDE = ["params", "result", "reply", "warnings", "shown", "digest", "value", "result_ref", "reason", "input"];
const START = /^\{("format":[0-9]+,"workflow":"[^"\\]*","run":"[^"\\]*",)?"version":[1-9][0-9]*,/;
const encoder = new TextEncoder(), TYPES = { 1: "urn:savant:proof:v1", 2: "urn:savant:proof:v2" };
// Shapes: a list of one holds any number, "" as a name stands for any name, and what ends in ? may be absent, but not empty.
const ENVELOPE = { payload: "", payloadType: "", signatures: [{ keyid: "", sig: "", "timestamp?": "" }] };
const STATEMENT = { _type: "", subject: [{ name: "", digest: { "": "" } }], predicateType: "", predicate: {
  format: 0, run: { workflow: "", id: "", status: "", records: 0, head: "", "imported?": 0 }, made: { by: "", time: "" },
  sources: [{ "name?": "", "version?": "", "file?": "", digest: "" }], texts: { "": "" }, records: [""],
  graph: [{ id: "", call: "", deps: [""], "writes?": true }], redactions: [""],
  receipts: [{ id: "", tool: "", input: "", output: "", time: "", "failed?": true, "command?": "", "command_digest?": "" }],
  observations: [{ version: 0, client: "", tool: "", outcome: "", "savant?": true }],
  claims: [{ step: "", status: "", grade: "", "version?": 0, "how?": "", "by?": "", "receipt?": "" }],
  "refusals?": [{ time: "", tool: "", rules: [""] }],
  "models?": [{ grade: "", "model?": "", "client?": "", calls: 0, "prompt_tokens?": 0, "output_tokens?": 0 }] } };
// Of a record the members that count; it may have others, and an absent one or null is empty.
const TOOK = { prompt_tokens: 0, output_tokens: 0 }, DATA = { step: "", call: "", status: "", allowed: "", digest: "", witness: "", receipt: "", by: "", by_claims: "", to: 0, result_ref: "", schemas: "",
  pins: { "": { version: "", digest: "", file: "" } }, used: { ...TOOK, models: [{ ...TOOK, model: "", calls: 0, remote: true }] } };
const RECORD = { version: 0, kind: "", prev: "", hash: "", time: "", data: DATA };
class Refused extends Error {}
function need(good, reason) { if (!good) throw new Refused(reason); }
function hex(bytes) { return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(""); }
async function digest(kind, bytes) { return new Uint8Array(await crypto.subtle.digest(kind, bytes)); }
async function sha256(text) { return hex(await digest("SHA-256", encoder.encode(text))); }

function canonical(value) {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return "{" + Object.keys(value).sort().map((name) => JSON.stringify(name) + ":" + canonical(value[name])).join(",") + "}";
}
function same(a, b) { return canonical(a ?? null) === canonical(b ?? null); }
function read(text, reason) {
  let value;
  try { value = JSON.parse(text); } catch { need(false, reason); }
  need(canonical(value) === text, reason);
  return value;
}
function decoded(text, reason) {
  let raw;
  try { raw = atob(text); } catch { need(false, reason); }
  need(btoa(raw) === text, reason);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
function utf8(bytes, reason) {
  try { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes); } catch { need(false, reason); }
}
function isObject(value) { return value !== null && typeof value === "object" && !Array.isArray(value); }
function ofType(value, shape) { return typeof value === typeof shape && (typeof value !== "number" || Number.isSafeInteger(value)); }
function fits(value, shape) {
  if (Array.isArray(shape)) return Array.isArray(value) && value.every((each) => fits(each, shape[0]));
  if (!isObject(shape)) return ofType(value, shape);
  if (!isObject(value)) return false;
  if ("" in shape) return Object.values(value).every((each) => fits(each, shape[""]));
  const known = new Map(Object.keys(shape).map((name) => [name.replace("?", ""), name]));
  return Object.keys(value).every((name) => known.has(name)) && [...known].every(([plain, name]) =>
    plain in value ? fits(value[plain], shape[name]) && (plain === name || (Array.isArray(value[plain]) ? value[plain].length > 0 : Boolean(value[plain]))) : plain !== name);
}
function filled(value, shape) {
  if (Array.isArray(shape)) {
    need(value == null || Array.isArray(value), "STATEMENT");
    return (value ?? []).map((each) => filled(each, shape[0]));
  }
  if (!isObject(shape)) {
    need(shape === null || value == null || ofType(value, shape), "STATEMENT");
    if (shape === null) return value;
    return value ?? { string: "", number: 0, boolean: false }[typeof shape];
  }
  need(value == null || isObject(value), "STATEMENT");
  if ("" in shape) return Object.fromEntries(Object.entries(value ?? {}).map(([name, each]) => [name, filled(each, shape[""])]));
  return { ...value, ...Object.fromEntries(Object.entries(shape).map(([name, each]) => [name, filled(value?.[name], each)])) };
}
// unique refuses JSON in which a name stands twice, of which readers take different ones.
function unique(text) {
  const open = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token.endsWith(":")) {
      const name = JSON.parse(token.slice(0, -1));
      need(!open.at(-1).has(name), "STATEMENT");
      open.at(-1).add(name);
    }
  }
}
// readRecords reads the records, and gives those of format 2 the hashes that are left out.
async function readRecords(p) {
  const lines = [], entries = [], listed = new Set(p.redactions);
  let before = "", hidden = p.format === 1;
  for (let line of p.records) {
    need(START.test(line) && line.endsWith("}") && !/[\r\n]/.test(line), "STATEMENT");
    hidden ||= placeholders(line, listed).length > 0;
    if (!hidden) {
      line = line.slice(0, -1) + `,"prev":"${before}"`;
      before = await sha256(line + "}");
      line += `,"hash":"${before}"}`;
    }
    unique(line);
    lines.push(line);
    entries.push(filled(JSON.parse(line), RECORD));
  }
  return [lines, entries];
}
function modelsOf(entries, imported) {
  const found = new Map();
  const add = (who, took) => {
    const one = found.get(canonical(who)) ?? { ...who, calls: 0, prompt_tokens: 0, output_tokens: 0 };
    for (const name of ["calls", "prompt_tokens", "output_tokens"]) one[name] += took[name];
    found.set(canonical(who), one);
  };
  for (const entry of entries.filter((each) => each.kind === "result")) {
    const { used, witness, by_claims } = entry.data;
    for (const each of used.models) add({ grade: each.remote || entry.version <= imported ? "reported" : "seen", ...(each.model && { model: each.model }) }, each);
    if (used.models.length === 0 && witness !== "gateway" && !entry.data.call) add({ grade: "reported", ...(by_claims && { client: by_claims }) }, { ...used, calls: 1 });
  }
  return [...found.values()].map((each) => Object.fromEntries(Object.entries(each).filter(([name, value]) => value || name === "calls")));
}
function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  parts.reduce((at, p) => (all.set(p, at), at + p.length), 0);
  return all;
}

// The wire format of SSH: a length of four bytes, and as many bytes.
function fields(bytes, count) {
  const found = [], view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    need(at + 4 <= bytes.length && at + 4 + view.getUint32(at) <= bytes.length, "SIGNATURE");
    const size = view.getUint32(at);
    found.push(bytes.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  need(at === bytes.length, "SIGNATURE");
  return found;
}
function field(bytes) {
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, bytes.length);
  return joined(size, bytes);
}
function ascii(bytes) { return String.fromCharCode(...bytes); }
function fixed(mpint, size) {
  let bytes = mpint;
  while (bytes.length > 0 && bytes[0] === 0) bytes = bytes.subarray(1);
  need(bytes.length <= size, "SIGNATURE");
  return joined(new Uint8Array(size - bytes.length), bytes);
}
const CURVES = { "ecdsa-sha2-nistp256": ["P-256", "SHA-256", 32], "ecdsa-sha2-nistp384": ["P-384", "SHA-384", 48] };

async function fingerprint(blob) { return "SHA256:" + btoa(ascii(await digest("SHA-256", blob))).replace(/=+$/, ""); }

// checkSignature returns the fingerprint of the key that signed a message.
async function checkSignature(sig, message) {
  need(sig.length > 10 && ascii(sig.subarray(0, 6)) === "SSHSIG" && hex(sig.subarray(6, 10)) === "00000001", "SIGNATURE");
  const [key, namespace, reserved, hash, signature] = fields(sig.subarray(10), 5);
  const kinds = { sha512: "SHA-512", sha256: "SHA-256" };
  need(ascii(namespace) === "proof@savant" && kinds[ascii(hash)], "SIGNATURE");
  const signed = joined(encoder.encode("SSHSIG"), field(namespace), field(reserved), field(hash), field(await digest(kinds[ascii(hash)], message)));
  const [kind, value] = fields(signature, 2), type = ascii(kind);
  let good = false;
  try {
    if (type === "ssh-ed25519") {
      const [name, point] = fields(key, 2);
      need(ascii(name) === type, "SIGNATURE");
      const known = await crypto.subtle.importKey("raw", point, "Ed25519", false, ["verify"]);
      good = await crypto.subtle.verify("Ed25519", known, value, signed);
    } else if (CURVES[type]) {
      const [name, , point] = fields(key, 3), [curve, kind, size] = CURVES[type], [r, s] = fields(value, 2);
      need(ascii(name) === type, "SIGNATURE");
      const known = await crypto.subtle.importKey("raw", point, { name: "ECDSA", namedCurve: curve }, false, ["verify"]);
      good = await crypto.subtle.verify({ name: "ECDSA", hash: kind }, known, joined(fixed(r, size), fixed(s, size)), signed);
    }
  } catch (why) { need(false, "SIGNATURE"); }
  need(good, "SIGNATURE");
  return fingerprint(key);
}

// stampOf returns the time in a token, which must be of the signature. Who made it is not checked.
async function stampOf(token, sig) {
  const imprint = ascii(joined(new Uint8Array([4, 32]), await digest("SHA-256", sig)));
  const text = Array.from(token, (b) => String.fromCharCode(b)).join("");
  const at = /\x18[\s\S](\d{14})(\.\d+)?Z/.exec(text);
  need(text.includes(imprint) && at, "TIMESTAMP");
  return at[1];
}

function effective(entries) {
  const line = [];
  for (let at = entries.length; at > 0;) {
    const each = entries[at - 1];
    if (each.kind === "reset") {
      const to = each.data.to || 0;
      need(to >= 1 && to < at, "CHAIN");
      at = to;
    } else { line.push(each); at--; }
  }
  return line.reverse();
}
function grade(entry, imported, observed) {
  const data = entry.data, claim = { step: data.step, version: entry.version };
  if (data.by) claim.by = data.by;
  if (entry.version <= imported) return { ...claim, grade: "imported" };
  if (entry.kind === "person") return { ...claim, grade: "person", how: ["terminal", "hub"].includes(data.by) ? data.by : "client" };
  if (data.witness === "gateway") return { ...claim, grade: "gateway", ...(data.receipt && { receipt: data.receipt }), ...(data.allowed && { how: data.allowed }) };
  return { ...claim, grade: observed.has(entry.version) ? "hook" : "said" };
}
function placeholders(text, listed) { return listed.size === 0 ? [] : Array.from(text.matchAll(PLACEHOLDER), (m) => m[1]).filter((each) => listed.has(each)); }
function without(object, names) { return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name))); }

// verifyProof checks the text of a proof against the fingerprints of keys that count; null
// asks about no key. It returns the reason for a refusal as code, "" for none.
async function verifyProof(text, allowed) {
  const out = { code: "", signers: [], stamps: [], statement: null };
  try { await verify(text, allowed, out); } catch (why) { out.code = why instanceof Refused ? why.message : "STATEMENT"; }
  return out;
}
async function verify(text, allowed, out) {
  need(text.endsWith("\n"), "ENVELOPE");
  const envelope = read(text.slice(0, -1), "ENVELOPE");
  need(fits(envelope, ENVELOPE) && envelope.payloadType === TYPE && envelope.signatures.length > 0 && envelope.signatures.length <= 16, "ENVELOPE");
  const payload = decoded(envelope.payload, "ENVELOPE");
  const message = joined(encoder.encode(`DSSEv1 ${TYPE.length} ${TYPE} ${payload.length} `), payload);
  for (const each of envelope.signatures) {
    const sig = decoded(each.sig, "SIGNATURE"), key = await checkSignature(sig, message);
    need(key === each.keyid && !out.signers.includes(key), "SIGNATURE");
    if ("timestamp" in each) out.stamps.push(await stampOf(decoded(each.timestamp, "TIMESTAMP"), sig));
    out.signers.push(key);
  }
  let statement = null, lines = [], entries = [];
  try {
    statement = read(utf8(payload, "STATEMENT"), "STATEMENT");
    need(fits(statement, STATEMENT), "STATEMENT");
    [lines, entries] = await readRecords(statement.predicate);
    out.statement = statement;
    out.lines = lines;
  } catch { statement = null; }
  if (statement && entries.length > 0 && out.stamps.length > 0) {
    need(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(entries.at(-1).time) && !isNaN(Date.parse(entries.at(-1).time)), "TIMESTAMP");
    const last = entries.at(-1).time.slice(0, 19).replace(/\D/g, "");
    need(out.stamps.every((stamp) => stamp >= last), "TIMESTAMP");
  }
  need(allowed === null || out.signers.some((key) => allowed.includes(key)), "KEY");
  need(statement, "STATEMENT");
  const p = statement.predicate;
  need(statement._type === "https://in-toto.io/Statement/v1" && statement.predicateType === TYPES[p.format], "STATEMENT");
  need(entries.length > 0 && entries.length === p.run.records && (p.format > 1 || !p.models && !p.refusals), "STATEMENT");
  await checkRecords(p, lines, entries);
  const line = effective(entries);
  await checkParts(p, entries, line);
  let end = { outputs: {}, artifacts: [] };
  try { end = filled(entries.at(-1).data.reply, { reply: { outputs: { "": null }, artifacts: [{ name: "", sha256: "" }] } }).reply; } catch { /* a redacted one, or none */ }
  await checkSubjects(statement.subject, p, line, end);
}
async function checkRecords(p, lines, entries) {
  const listed = new Set(p.redactions), used = new Set(p.receipts.map((r) => r.input));
  need(listed.size === p.redactions.length && same([...listed].sort(), p.redactions) && p.redactions.every((each) => /^redacted:[0-9a-f]{64}$/.test(each)), "REDACTION");
  let first = entries.length;
  entries.forEach((entry, i) => {
    const found = placeholders(lines[i], listed);
    found.forEach((each) => used.add(each));
    if (found.length > 0) first = Math.min(first, i);
    if (i < first) return;
    const rest = { ...without(entry, ["prev", "hash", "state", "data"]), data: without(entry.data, MAY_HIDE) };
    need(listed.has(entry.hash) && placeholders(canonical(rest), listed).length === 0, "REDACTION");
  });
  need(p.redactions.every((each) => used.has(each)), "REDACTION");
  let before = "";
  entries.forEach((entry, i) => {
    need(entry.version === i + 1 && entry.prev === before, "CHAIN");
    need(i > 0 || (entry.format === 1 && entry.workflow === p.run.workflow && entry.run === p.run.id), "CHAIN");
    before = entry.hash;
  });
  need(before === p.run.head, "CHAIN");
  if (p.format > 1) return; // then the hashes were made from the lines
  const hashes = await Promise.all(lines.slice(0, first).map((line) => sha256(line.slice(0, -75) + "}")));
  hashes.forEach((hash, i) => need(lines[i].slice(-75) === `,"hash":"${hash}"}` && entries[i].hash === hash, "CHAIN"));
}
async function checkParts(p, entries, line) {
  const listed = new Set(p.redactions), plan = entries[0].data;
  const sources = Object.keys(plan.pins).sort().map((name) => ({ name, ...Object.fromEntries(["version", "file", "digest"].map((key) => [key, plan.pins[name][key]]).filter(([key, v]) => v || key === "digest")) }));
  need(same(p.sources, plan.schemas ? [...sources, { digest: plan.schemas }] : sources), "SOURCE");
  const refs = entries.map((e) => e.data.result_ref).filter((ref) => ref && !listed.has(ref));
  need(same(Object.keys(p.texts).sort(), [...new Set([...p.sources.map((s) => s.digest), ...refs])].sort()), "SOURCE");
  for (const [digest, text] of Object.entries(p.texts)) need((await sha256(text)) === digest, "SOURCE");
  const kept = new Map(line.filter((e) => e.data.witness === "gateway").map((e) => [e.data.receipt, e.data.digest]));
  need(p.receipts.every((r) => r.id && kept.get(r.id) === r.output), "RECEIPT");
  const observed = new Set(p.observations.filter((o) => o.outcome !== "unseen").map((o) => o.version)), imported = p.run.imported || 0;
  need(p.observations.every((o) => (o.version === 0 && o.outcome === "succeeded") || entries[o.version - 1]?.kind === "result"), "CLAIM");
  const answered = new Map(line.filter((e) => ["result", "person"].includes(e.kind)).map((e) => [e.data.step, grade(e, imported, observed)]));
  const claimed = new Set(p.claims.map((c) => c.step));
  need(claimed.size === p.claims.length && [...answered.keys()].every((step) => claimed.has(step)), "CLAIM");
  for (const claim of p.claims) {
    const other = { step: claim.step, grade: ["engine", "absent"].includes(claim.grade) ? claim.grade : "" };
    need(same(claim, { ...(answered.get(claim.step) ?? other), status: claim.status }), "CLAIM");
  }
  if (p.run.workflow === "agent.run") {
    const by = new Map(line.filter((e) => ["result", "person"].includes(e.kind)).map((e) => [e.data.step, e.data])), last = entries.at(-1);
    need(p.claims.every((c) => by.get(c.step)?.status === c.status), "CLAIM");
    need(same(p.graph, p.claims.filter((c) => by.get(c.step).call).map((c) => ({ id: c.step, call: by.get(c.step).call, deps: [] }))), "CLAIM");
    need(p.run.status === (last.kind === "finished" ? last.data.status : "interrupted"), "CLAIM");
  }
  need(p.format === 1 || same(p.models ?? [], modelsOf(entries, imported)), "CLAIM");
}
function isCommit(value) { return typeof value === "string" && HEX.test(value); }
async function checkSubjects(given, p, line, end) {
  const head = p.run.head, stated = given.find((s) => s.name === "commit:stated")?.digest.gitCommit, named = (name, digest) => ({ name, digest });
  const want = [named("run", head.startsWith("redacted:") ? { saltedSha256: head.slice(9) } : { sha256: head })];
  const seen = line.filter((e) => e.kind === "result" && e.data.witness === "gateway" && e.version > (p.run.imported || 0) && isCommit(e.data.result?.head)).at(-1);
  if (seen) want.push(named("commit:seen", { gitCommit: seen.data.result.head }));
  if (isCommit(stated)) want.push(named("commit:stated", { gitCommit: stated }));
  for (const each of end.artifacts) want.push(named("artifact:" + each.name, { sha256: each.sha256 }));
  for (const name of Object.keys(end.outputs).sort()) want.push(named("output:" + name, { sha256: await sha256(canonical(end.outputs[name])) }));
  need(same(given, want), "SUBJECT");
}

// What follows shows the proof.
const REASONS = {
  ENVELOPE: "the file is not the one form of a proof", SIGNATURE: "a signature does not fit the content", TIMESTAMP: "a time stamp is of something else, or too old",
  KEY: "no signature is of the key that you named", STATEMENT: "the content is not a statement of this format", REDACTION: "something was redacted that must be seen",
  CHAIN: "a record does not follow from the one before", SOURCE: "a workflow or a result is not the one that the records name", RECEIPT: "a receipt is not of the record that names it",
  CLAIM: "the records do not show what a step claims", SUBJECT: "a subject is not what the records show" };
const WORDS = {
  gateway: "seen by Savant", hook: "the call was seen by a hook; the result is the client's word", person: "answered by a person", engine: "computed from the results before",
  said: "only said by the model or its client", imported: "recorded elsewhere, not seen", absent: "not done, skipped or waiting" };
const HOW = { terminal: "at a terminal", hub: "in the hub", client: "in their client's form", person: "allowed by a person", pattern: "allowed by a pattern of a person", order: "ordered with the run" };
const MOST = 2000;
function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}
function table(heads, rows) {
  const head = element("tr", "", ...heads.map((each) => { const cell = element("th", each); cell.scope = "col"; return cell; }));
  return element("table", "", element("thead", "", head), element("tbody", "", ...rows.map((row) => element("tr", "", ...row.map((cell) => cell instanceof Node ? element("td", "", cell) : element("td", cell))))));
}
function graded(claim) {
  const cell = element("span", claim.grade);
  cell.className = "grade " + claim.grade;
  return cell;
}
function drawn(graph, claims) {
  const grades = new Map(claims.map((c) => [c.step, c.grade])), level = new Map(), rows = [];
  for (const node of graph) {
    const at = Math.max(-1, ...node.deps.map((dep) => level.get(dep) ?? -1)) + 1;
    level.set(node.id, at);
    (rows[at] ??= []).push(node);
  }
  const space = "http://www.w3.org/2000/svg", place = new Map(), svg = document.createElementNS(space, "svg");
  const add = (name, attributes, text) => {
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    svg.append(made);
  };
  const width = Math.max(...rows.map((row) => row.length)) * 190 + 10;
  rows.forEach((row, y) => row.forEach((node, x) => place.set(node.id, [10 + x * 190, 10 + y * 70])));
  for (const node of graph) for (const dep of node.deps) if (place.has(dep)) {
    const [a, b] = place.get(dep), [c, d] = place.get(node.id);
    add("path", { d: `M${a + 85} ${b + 40} C${a + 85} ${b + 60} ${c + 85} ${d - 20} ${c + 85} ${d}` });
  }
  const strokes = { gateway: "#166534", person: "#166534", engine: "#166534", hook: "#92400e", imported: "#92400e" };
  for (const node of graph) {
    const [x, y] = place.get(node.id), grade = grades.get(node.id) || "absent";
    add("rect", { x, y, width: 170, height: 40, rx: 5, stroke: strokes[grade] || "#991b1b" });
    add("text", { x: x + 8, y: y + 17 }, node.id.slice(0, 24));
    add("text", { x: x + 8, y: y + 33, fill: "#4b5563" }, `${node.call.slice(0, 17)} · ${grade}`);
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${rows.length * 70}`);
  svg.setAttribute("width", width);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "The steps of the workflow and what they depend on; the table below has the same");
  return svg;
}
function verdict(kind, text) {
  const place = document.getElementById("verdict");
  place.className = kind;
  place.textContent = text;
}
function show(out) {
  const p = out.statement.predicate, content = document.getElementById("content"), calls = new Map(p.graph.map((n) => [n.id, n.call]));
  document.getElementById("title").textContent = `Proof of the run ${p.run.id} of ${p.run.workflow}`;
  const counts = {};
  for (const claim of p.claims) counts[claim.grade] = (counts[claim.grade] || 0) + 1;
  const facts = [["The run", `is ${p.run.status} after ${p.run.records} records`], ["Made", `${p.made.time} by ${p.made.by}, by its own clock`], ["Signed by", out.signers.join(", ")]];
  if (out.stamps.length > 0) facts.push(["Time stamp", out.stamps.join(", ") + " UTC; this page does not check whose it is"]);
  for (const each of out.statement.subject) facts.push([each.name, Object.entries(each.digest).map(([kind, value]) => `${kind}:${value}`).join(" ")]);
  content.replaceChildren(element("h2", "What it is about"), table(["", ""], facts), element("h2", "How each step is known"),
    table(["Steps", "Known", "Means"], Object.keys(WORDS).filter((g) => counts[g]).map((g) => [String(counts[g]), graded({ grade: g }), WORDS[g]])));
  if (p.graph.some((n) => n.deps.length > 0) && p.graph.length <= 200) content.append(drawn(p.graph, p.claims));
  content.append(element("h2", "The steps"), table(["Step", "Call", "Status", "Known", "Further"], p.claims.slice(0, MOST).map((c) =>
    [c.step, calls.get(c.step) || "", c.status, graded(c), [c.how && HOW[c.how], c.receipt && "receipt " + c.receipt, c.version && "record " + c.version].filter(Boolean).join(", ")])));
  if (p.claims.length > MOST) content.append(element("p", `${p.claims.length - MOST} more steps are in the file.`));
  if (p.models) content.append(element("h2", "Which models answered"), table(["Model", "Calls", "Tokens in, out", "Known"], p.models.map((m) =>
    [m.model ?? "a model of " + (m.client ?? "an unnamed client"), String(m.calls), `${m.prompt_tokens ?? 0}, ${m.output_tokens ?? 0}`, m.grade === "seen" ? "called by Savant" : "reported by the client or a service"])));
  if (p.refusals) content.append(element("h2", "What rules refused"), table(["Time", "Tool", "Rules"], p.refusals.map((r) => [r.time, r.tool, r.rules.join(", ")])));
  content.append(element("h2", "What is not proven"), element("ul", "", ...limits(counts, p).map((each) => element("li", each))));
  for (const source of p.sources.filter((each) => each.name)) content.append(element("details", "", element("summary", `The workflow ${source.name} ${source.version || ""}`), element("pre", p.texts[source.digest])));
  content.append(element("details", "", element("summary", "The records"), ...out.lines.slice(0, 200).map((line) => element("pre", line))));
}
function limits(counts, p) {
  const said = [];
  for (const grade of ["said", "hook", "imported", "absent"]) if (counts[grade]) said.push(`${counts[grade]} of ${p.claims.length} steps: ${WORDS[grade]}.`);
  if (p.redactions.length > 0) said.push("Values were redacted. What they were, and the hashes after the first of them, are the signer's word.");
  if (p.run.workflow === "agent.run") said.push("Why a model decided so, and what stood in the journal of the agent before this proof chained its records.");
  else said.push("This page does not compute the workflow's instructions again; savant verify does.");
  said.push("A tool that lies is witnessed lying. Who holds the key and the folder can sign another history.");
  return said;
}
async function named(text) {
  text = text.trim();
  if (text.startsWith("SHA256:") || text === "") return text;
  const blob = text.split(/\s+/).find((word) => word.startsWith("AAAA"));
  try { return await fingerprint(Uint8Array.from(atob(blob), (c) => c.charCodeAt(0))); } catch { return "no key"; }
}
async function check() {
  const text = document.getElementById("proof").textContent, key = await named(document.getElementById("key").value);
  const out = await verifyProof(text, key === "" ? null : [key]);
  if (out.code !== "") verdict("refused", `Refused: ${REASONS[out.code]} (${out.code}).`);
  else if (key === "") verdict("unknown", `Whole, and signed by ${out.signers.join(", ")}. Nobody has said yet whether that key counts: name it below.`);
  else verdict("verified", `Verified: whole, and signed by the key that you named.`);
  if (out.code === "" && out.statement) show(out);
  document.body.dataset.checked = out.code || "verified";
}
if (document.getElementById("proof").textContent.trim() !== "") {
  document.getElementById("key").addEventListener("input", check);
  check();
}
