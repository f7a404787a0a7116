"use strict";
const encoder = new TextEncoder(), TYPE = "application/vnd.in-toto+json", PREDICATE = "urn:savant:proof:v4";
const HIDDEN = ["params", "result", "reply", "warnings", "shown", "digest", "value", "size", "result_ref", "reason", "input"];
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/, PLACEHOLDER = /^redacted:[0-9a-f]{64}$/, WITHIN = /"redacted:[0-9a-f]{64}"/;
function texts(names) { return Object.fromEntries(names.split(" ").map((name) => [name, ""])); }
// Shapes: a list of one holds any number of it, "" as a name stands for any name, null for anything.
const ENVELOPE = { ...texts("payload payloadType"), signatures: [texts("keyid sig timestamp")] };
const STATEMENT = { ...texts("_type predicateType"), subject: [{ name: "", digest: { "": "" } }], predicate: {
  run: { ...texts("workflow id status head"), imported: 0, whole: 0 }, made: texts("by time"), texts: [""], graph: [{ ...texts("id call"), deps: [""] }],
  records: [""], claims: [{ ...texts("step status grade how"), version: 0 }], receipts: [{ ...texts("id tool input output time command command_digest"), failed: true }],
  observations: [{ ...texts("client tool outcome"), version: 0, savant: true }], refusals: [{ ...texts("time tool"), rules: [""] }], rules: [texts("file text")] } };
const RECORD = { ...texts("workflow run kind time status state prev hash"), format: 0, version: 0, data: {
  ...texts("step call status allowed digest witness receipt by by_claims result_ref schemas"), to: 0, pins: { "": texts("digest file") }, commands: { "": "" }, used: null, result: null, reply: null } };
const ASKED = { ...texts("step_id call"), input: null }, REPLY = { reply: { outputs: { "": null }, artifacts: [texts("name sha256")], instruction: ASKED, instructions: [ASKED] } };
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const EMPTY = { string: "", number: 0, boolean: false };

class Refused extends Error {}
function need(good) { if (!good) throw new Refused(); }
function hex(bytes) { return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(""); }
async function digest(kind, bytes) { return new Uint8Array(await crypto.subtle.digest(kind, bytes)); }
async function sha256(text) { return hex(await digest("SHA-256", encoder.encode(text))); }
function canonical(value) {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (isObject(value)) return "{" + Object.keys(value).sort().map((name) => canonical(name) + ":" + canonical(value[name])).join(",") + "}";
  need(typeof value !== "number" || Number.isFinite(value));
  return JSON.stringify(typeof value === "string" ? value.toWellFormed() : value);
}
function same(a, b) { return canonical(a) === canonical(b); }
function isObject(value) { return value !== null && typeof value === "object" && !Array.isArray(value); }
function kindOf(value) { return Array.isArray(value) ? "list" : value === null ? "null" : typeof value; }
// take takes what a shape has from a value. Of a part, other members may be there, and any may be absent or null.
function take(value, shape, whole) {
  if (shape === null) return value ?? null;
  if (value == null && !whole) value = EMPTY[typeof shape] ?? (Array.isArray(shape) ? [] : {});
  need(value !== undefined && kindOf(value) === kindOf(shape));
  if (Array.isArray(shape)) return value.map((each) => take(each, shape[0], whole));
  if (!isObject(shape)) {
    need(typeof value !== "number" || Number.isSafeInteger(value));
    need(whole || typeof value !== "string" || !/[\ud800-\udfff\ufffd]/u.test(value));
    return value;
  }
  if ("" in shape) return Object.fromEntries(Object.entries(value).map(([name, each]) => [take(name, "", whole), take(each, shape[""], whole)]));
  need(!whole || Object.keys(value).length === Object.keys(shape).length);
  return Object.fromEntries(Object.entries(shape).map(([name, each]) => [name, take(Object.hasOwn(value, name) ? value[name] : undefined, each, whole)]));
}
function read(text, shape) {
  const value = JSON.parse(text);
  need(canonical(value) === text);
  return take(value, shape, true);
}
function decoded(text) {
  const raw = atob(text);
  need(btoa(raw) === text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
// unique refuses JSON in which a name stands twice, of which readers take different ones.
function unique(text) {
  const open = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token.endsWith(":")) {
      const name = JSON.parse(token.slice(0, -1)).toWellFormed();
      need(!open.at(-1).has(name));
      open.at(-1).add(name);
    }
  }
}
// readRecords reads the records, and gives the whole ones the hashes that are left out.
async function readRecords(p) {
  const lines = [], { whole, imported } = p.run, count = p.records.length;
  let before = "";
  need(count > 0 && Math.min(whole, imported) >= 0 && Math.max(whole, imported) <= count);
  for (let line of p.records) {
    if (lines.length < whole) {
      need(line.endsWith("}"));
      line = line.slice(0, -1) + `,"prev":"${before}"`;
      before = await sha256(line + "}");
      line += `,"hash":"${before}"}`;
    }
    unique(line);
    lines.push(line);
  }
  return lines;
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
    need(at + 4 <= bytes.length && at + 4 + view.getUint32(at) <= bytes.length);
    const size = view.getUint32(at);
    found.push(bytes.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  need(at === bytes.length);
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
  need(!(bytes[0] & 0x80)); // a number below zero
  while (bytes.length > 0 && bytes[0] === 0) bytes = bytes.subarray(1);
  need(bytes.length <= size);
  return joined(new Uint8Array(size - bytes.length), bytes);
}

async function fingerprint(blob) { return "SHA256:" + btoa(ascii(await digest("SHA-256", blob))).replace(/=+$/, ""); }

// checkSignature returns the fingerprint of the key that signed a message.
async function checkSignature(sig, message) {
  need(sig.length > 10 && ascii(sig.subarray(0, 6)) === "SSHSIG" && hex(sig.subarray(6, 10)) === "00000001");
  const [key, namespace, reserved, hash, signature] = fields(sig.subarray(10), 5);
  const kinds = { sha512: "SHA-512", sha256: "SHA-256" };
  need(ascii(namespace) === "proof@savant" && kinds[ascii(hash)]);
  const signed = joined(encoder.encode("SSHSIG"), field(namespace), field(reserved), field(hash), field(await digest(kinds[ascii(hash)], message)));
  const [kind, value] = fields(signature, 2), type = ascii(kind), bits = /^ecdsa-sha2-nistp(256|384|521)$/.exec(type)?.[1];
  let good = false;
  try {
    if (type === "ssh-ed25519") {
      const [name, point] = fields(key, 2);
      need(ascii(name) === type);
      const known = await crypto.subtle.importKey("raw", point, "Ed25519", false, ["verify"]);
      good = await crypto.subtle.verify("Ed25519", known, value, signed);
    } else if (bits) {
      const [name, on, point] = fields(key, 3), size = Math.ceil(bits / 8), [r, s] = fields(value, 2);
      need(ascii(name) === type && type.endsWith("-" + ascii(on)) && point.length === 2 * size + 1);
      const known = await crypto.subtle.importKey("raw", point, { name: "ECDSA", namedCurve: "P-" + bits }, false, ["verify"]);
      good = await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-" + Math.min(bits, 512) }, known, joined(fixed(r, size), fixed(s, size)), signed);
    }
  } catch (why) { need(false); }
  need(good);
  return fingerprint(key);
}

// stampOf returns the time in a token, which must be of the signature. Who made it is not checked.
async function stampOf(token, sig) {
  const text = Array.from(token, (b) => String.fromCharCode(b)).join(""), start = "\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x04"; // a TSTInfo follows
  const info = text.slice(text.indexOf(start) + start.length).slice(0, 200), imprint = "\x04\x20" + ascii(await digest("SHA-256", sig)), at = info.indexOf(imprint);
  need(text.includes(start) && at >= 0);
  const time = /^\x02[\s\S]{2,24}?\x18[\s\S](\d{14})(\.\d+)?Z/.exec(info.slice(at + imprint.length));
  need(time);
  return time[1];
}
function effective(entries) {
  const line = [];
  for (let at = entries.length; at > 0;) {
    const { kind, data } = entries[at - 1], reset = kind === "reset";
    need(!reset || (data.to >= 1 && data.to < at));
    if (!reset) line.push(entries[at - 1]);
    at = reset ? data.to : at - 1;
  }
  return line.reverse();
}
function claimOf({ kind, version, data }, imported, seen, proven) {
  let grade = "said", how = "";
  if (version <= imported) grade = "imported";
  else if (kind === "person") [grade, how] = ["person", ["terminal", "hub"].includes(data.by) ? data.by : "client"];
  else if (data.witness === "gateway") [grade, how] = [proven.has(version) ? "gateway" : "recorded", data.allowed];
  else if (seen.has(version)) grade = "hook";
  return { step: data.step, status: data.status, grade, how, version };
}

// verifyProof checks the text of a proof against the fingerprints of keys that count, null for
// any, and of revoked ones. It returns the reason for a refusal as code, "" for none.
async function verifyProof(text, allowed, revoked = []) {
  const out = { code: "", signers: [], stamps: [], statement: null };
  try {
    await verify(text, allowed, revoked, out);
    out.code = "";
  } catch { /* the code says what failed */ }
  return out;
}
async function verify(text, allowed, revoked, out) {
  out.code = "ENVELOPE";
  const envelope = read(text.slice(0, -1), ENVELOPE);
  need(text.endsWith("\n") && envelope.payloadType === TYPE && envelope.signatures.length > 0 && envelope.signatures.length <= 16);
  const payload = decoded(envelope.payload);
  const message = joined(encoder.encode(`DSSEv1 ${TYPE.length} ${TYPE} ${payload.length} `), payload);
  out.code = "SIGNATURE";
  for (const each of envelope.signatures) {
    need((await checkSignature(decoded(each.sig), message)) === each.keyid && !out.signers.includes(each.keyid));
    out.signers.push(each.keyid);
  }
  out.code = "KEY";
  need(out.signers.some((key) => !revoked.includes(key) && (allowed ?? [key]).includes(key)));
  out.code = "STATEMENT";
  const content = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload);
  const statement = read(content, STATEMENT), p = statement.predicate;
  need(statement._type === "https://in-toto.io/Statement/v1" && statement.predicateType === PREDICATE);
  const lines = await readRecords(p), values = lines.map((line) => JSON.parse(line)), entries = values.map((each) => take(each, RECORD, false));
  Object.assign(out, { statement, lines, entries });
  out.code = "REDACTION";
  for (const [i, entry] of [...entries.entries()].slice(p.run.whole)) {
    const data = Object.fromEntries(Object.entries(values[i].data ?? {}).filter(([name]) => !HIDDEN.includes(name)));
    need(PLACEHOLDER.test(entry.hash) && !WITHIN.test(JSON.stringify({ ...values[i], data, prev: 0, hash: 0, state: 0 })));
  }
  out.code = "CHAIN";
  const first = entries[0], last = entries.at(-1);
  need(entries.every((each, i) => each.version === i + 1 && each.prev === (i > 0 ? entries[i - 1].hash : "")));
  need(first.format === 1 && first.workflow === p.run.workflow && first.run === p.run.id && last.status === p.run.status && last.hash === p.run.head);
  const line = effective(entries), references = entries.map((each) => each.data.result_ref).filter((ref) => ref && !PLACEHOLDER.test(ref));
  out.code = "SOURCE";
  const named = new Set([...Object.values(first.data.pins).map((pin) => pin.digest), ...[first.data.schemas].filter(Boolean), ...references]);
  const digests = await Promise.all(p.texts.map(sha256));
  need(same(digests, [...named].sort()));
  out.texts = new Map(digests.map((each, i) => [each, p.texts[i]]));
  out.code = "RECEIPT";
  const proven = await matched(p, entries, line);
  out.code = "CLAIM";
  checkClaims(p, entries, line, proven);
  out.code = "SUBJECT";
  need(same(statement.subject, await subjectsOf(p, last, line, proven, statement.subject.find((each) => each.name === "commit:stated"))));
  out.code = "TIMESTAMP";
  for (const each of envelope.signatures) {
    if (each.timestamp === "") continue;
    out.stamps.push(await stampOf(decoded(each.timestamp), decoded(each.sig)));
    need(TIME.test(last.time) && out.stamps.at(-1) >= last.time.replace(/\D/g, "").slice(0, 14));
  }
}
function repliedOf(entry) {
  try { return take(entry.data.reply, REPLY, false).reply; } catch { return take({}, REPLY.reply, false); } // it is redacted, or there is none
}
// matched returns the versions of the records whose receipts are here, in the same order.
async function matched(p, entries, line) {
  const proven = new Set(), counts = new Set(line), asked = new Map();
  for (const entry of p.receipts.length > 0 ? entries : []) {
    const next = p.receipts[proven.size];
    if (next && counts.has(entry) && await fits(next, entry, asked.get(entry.data.step) ?? {}, p.run.whole < entries.length, entries[0].data.commands)) proven.add(entry.version);
    const { instruction, instructions } = repliedOf(entry);
    for (const each of [...instructions, instruction]) asked.set(each.step_id, { ...each, time: entry.time });
  }
  need(proven.size === p.receipts.length);
  return proven;
}
// fits: is a receipt of a record, and of the call that was asked for, as far as the records show it?
async function fits(receipt, { data }, { step_id, call, input, time }, redacted, commands) {
  if (data.witness !== "gateway" || data.receipt === "" || data.receipt !== receipt.id || data.digest !== receipt.output || receipt.tool !== (data.call || call || receipt.tool)) return false;
  if (!receipt.failed && (data.status === "failed" || data.result?.isError === true)) return false;
  if (Object.keys(commands).length > 0 && receipt.command_digest !== "" && !(Object.hasOwn(commands, receipt.command) && commands[receipt.command] === receipt.command_digest)) return false;
  if (!step_id) return true;
  if (!TIME.test(receipt.time) || !TIME.test(time) || receipt.time.slice(0, -1) < time.slice(0, -1)) return false;
  return (redacted && PLACEHOLDER.test(receipt.input)) || [await sha256(canonical(input)), await sha256(canonical(isObject(input) ? Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)) : input))].includes(receipt.input);
}
function checkClaims(p, entries, line, proven) {
  need(p.observations.every((each) => each.version === 0 || entries[each.version - 1]?.kind === "result"));
  const seen = new Set(p.observations.filter((each) => each.outcome !== "unseen").map((each) => each.version)), agent = p.run.workflow === "agent.run";
  const answered = new Map(line.filter((each) => ["result", "person"].includes(each.kind)).map((each) => [each.data.step, claimOf(each, p.run.imported, seen, proven)]));
  const claimed = new Set(p.claims.map((each) => each.step));
  need(!(agent && p.graph.length > 0) && claimed.size === p.claims.length && [...answered.keys()].every((step) => claimed.has(step)));
  for (const each of p.claims) {
    const want = answered.get(each.step);
    need(want || (!agent && ["engine", "absent"].includes(each.grade)));
    need(same(each, { step: each.step, grade: each.grade, how: "", version: 0, ...want, status: want?.status || each.status }));
  }
}
async function subjectsOf(p, last, line, proven, stated) {
  const found = [], add = (name, kind, value) => found.push({ name, digest: { [kind]: value } }), { head, imported } = p.run, isCommit = (value) => typeof value === "string" && COMMIT.test(value);
  if (head.startsWith("redacted:")) add("run", "saltedSha256", head.slice(9));
  else add("run", "sha256", head);
  const seen = line.filter((each) => each.kind === "result" && proven.has(each.version) && each.version > imported && isCommit(each.data.result?.head)).at(-1);
  if (seen) add("commit:seen", "gitCommit", seen.data.result.head);
  if (stated) {
    need(isCommit(stated.digest.gitCommit));
    add("commit:stated", "gitCommit", stated.digest.gitCommit);
  }
  const end = repliedOf(last);
  for (const each of end.artifacts) add("artifact:" + each.name, "sha256", each.sha256);
  for (const name of Object.keys(end.outputs).sort()) add("output:" + name, "sha256", await sha256(canonical(end.outputs[name])));
  return found;
}

// What follows shows the proof.
const REASONS = {
  ENVELOPE: "the file is not the one form of a proof", SIGNATURE: "a signature does not fit the content", TIMESTAMP: "a time stamp is of something else, or too old",
  KEY: "no signature is of the key that you named, or it is revoked", STATEMENT: "the content is not a statement of this format", REDACTION: "something was redacted that must be seen",
  CHAIN: "a record does not follow from the one before", SOURCE: "a workflow or a result is not the one that the records name", RECEIPT: "a receipt is not of the record that names it",
  CLAIM: "the records do not show what a step claims", SUBJECT: "a subject is not what the records show" };
const WORDS = {
  gateway: "seen by Savant", hook: "the call was seen by a hook; the result is the client's word", person: "answered by a person", engine: "computed from the results before",
  recorded: "the signer's word: the record says that Savant saw the call, and its receipt is not in the proof",
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
// modelsOf sums up who answered, as the records say it.
function modelsOf(entries, imported) {
  const found = new Map();
  const add = (who, known, took) => {
    const one = found.get(who + known) ?? { who, known, calls: 0, prompt: 0, output: 0 };
    one.calls += took.calls || 0;
    one.prompt += took.prompt_tokens || 0;
    one.output += took.output_tokens || 0;
    found.set(who + known, one);
  };
  for (const { kind, version, data } of entries) {
    if (kind !== "result") continue;
    const models = Array.isArray(data.used?.models) ? data.used.models : [];
    for (const each of models) add(String(each?.model), each?.remote || version <= imported ? "reported by the client or a service" : "called by Savant", each ?? {});
    if (models.length === 0 && data.witness !== "gateway" && data.call === "") add("a model of " + (data.by_claims || "an unnamed client"), "reported by the client or a service", { ...data.used, calls: 1 });
  }
  return [...found.values()];
}
function show(out) {
  const p = out.statement.predicate, models = modelsOf(out.entries, out.statement.predicate.run.imported), content = document.getElementById("content"), calls = new Map(p.graph.map((n) => [n.id, n.call]));
  const answer = (claim) => out.entries[claim.version - 1]?.data ?? {};
  document.getElementById("title").textContent = `Proof of the run ${p.run.id} of ${p.run.workflow}`;
  const counts = {};
  for (const claim of p.claims) counts[claim.grade] = (counts[claim.grade] || 0) + 1;
  const facts = [["The run", `is ${p.run.status} after ${p.records.length} records`], ["Made", `${p.made.time} by ${p.made.by}, by its own clock`], ["Signed by", out.signers.join(", ")]];
  if (out.stamps.length > 0) facts.push(["Time stamp", out.stamps.join(", ") + " UTC; this page does not check whose it is"]);
  for (const each of out.statement.subject) facts.push([each.name, Object.entries(each.digest).map(([kind, value]) => `${kind}:${value}`).join(" ")]);
  content.replaceChildren(element("h2", "What it is about"), table(["", ""], facts), element("h2", "How each step is known"),
    table(["Steps", "Known", "Means"], Object.keys(WORDS).filter((g) => counts[g]).map((g) => [String(counts[g]), graded({ grade: g }), WORDS[g]])));
  if (p.graph.some((n) => n.deps.length > 0) && p.graph.length <= 200) content.append(drawn(p.graph, p.claims));
  content.append(element("h2", "The steps"), table(["Step", "Call", "Status", "Known", "Further"], p.claims.slice(0, MOST).map((c) =>
    [c.step, calls.get(c.step) || answer(c).call || "", c.status, graded(c), [c.how && HOW[c.how], ["gateway", "recorded"].includes(c.grade) && "receipt " + answer(c).receipt, c.version && "record " + c.version].filter(Boolean).join(", ")])));
  if (p.claims.length > MOST) content.append(element("p", `${p.claims.length - MOST} more steps are in the file.`));
  if (models.length > 0) content.append(element("h2", "Which models answered"), table(["Model", "Calls", "Tokens in, out", "Known"], models.map((m) => [m.who, String(m.calls), `${m.prompt}, ${m.output}`, m.known])));
  if (p.refusals.length > 0) content.append(element("h2", "What rules refused"), table(["Time", "Tool", "Rules"], p.refusals.map((r) => [r.time, r.tool, r.rules.join(", ")])));
  content.append(element("h2", "What is not proven"), element("ul", "", ...limits(counts, p).map((each) => element("li", each))));
  for (const [name, pin] of Object.entries(out.entries[0].data.pins)) content.append(element("details", "", element("summary", `The workflow ${name}`), element("pre", out.texts.get(pin.digest))));
  for (const { file, text } of p.rules) content.append(element("details", "", element("summary", `The rules ${file}`), element("pre", text)));
  content.append(element("details", "", element("summary", "The records"), ...out.lines.slice(0, 200).map((line) => element("pre", line))));
}
function limits(counts, p) {
  const said = [];
  for (const grade of ["recorded", "said", "hook", "imported", "absent"]) if (counts[grade]) said.push(`${counts[grade]} of ${p.claims.length} steps: ${WORDS[grade]}.`);
  if (p.run.whole < p.records.length) said.push("Values were redacted. What they were, and the hashes after the first of them, are the signer's word.");
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
  const out = await verifyProof(text, key === "" ? null : [key], await Promise.all(document.getElementById("revoked").value.split("\n").map(named)));
  if (out.code !== "") verdict("refused", `Refused: ${REASONS[out.code]} (${out.code}).`);
  else if (key === "") verdict("unknown", `Whole, and signed by ${out.signers.join(", ")}. Nobody has said yet whether that key counts: name it below.`);
  else verdict("verified", `Verified: whole, and signed by the key that you named.`);
  if (out.code === "" && out.statement) show(out);
  document.body.dataset.checked = out.code || "verified";
}
if (document.getElementById("proof").textContent.trim() !== "") {
  for (const each of ["key", "revoked"]) document.getElementById(each).addEventListener("input", check);
  check();
}
