"""Verifies proofs of runs: verify.py ALLOWED_SIGNERS FILE... It follows docs/proof.md and
needs Python 3 and ssh-keygen alone. For each file it prints "verified", or the reason."""
import base64, hashlib, json, re, struct, subprocess, sys, tempfile
from datetime import datetime
from decimal import Decimal

TYPE, HEX = "application/vnd.in-toto+json", re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
MAY_HIDE = {"params", "result", "reply", "warnings", "shown", "digest", "value", "result_ref", "reason", "input"}
PLACEHOLDER = re.compile(r'"(redacted:[0-9a-f]{64})"')
START, TIME = re.compile(r'\{("format":[0-9]+,"workflow":"[^"\\]*","run":"[^"\\]*",)?"version":[1-9][0-9]*,'), re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TYPES = {1: "urn:savant:proof:v1", 2: "urn:savant:proof:v2"}

# Shapes: a list of one holds any number, "" as a name stands for any name, and what ends in ? may be absent, but not empty.
ENVELOPE = {"payload": "", "payloadType": "", "signatures": [{"keyid": "", "sig": "", "timestamp?": ""}]}
CALLS = {"calls": 0, "prompt_tokens?": 0, "output_tokens?": 0}
STATEMENT = {"_type": "", "subject": [{"name": "", "digest": {"": ""}}], "predicateType": "", "predicate": {
    "format": 0, "run": {"workflow": "", "id": "", "status": "", "records": 0, "head": "", "imported?": 0}, "made": {"by": "", "time": ""},
    "sources": [{"name?": "", "version?": "", "file?": "", "digest": ""}], "texts": {"": ""}, "records": [""],
    "graph": [{"id": "", "call": "", "deps": [""], "writes?": True}], "redactions": [""],
    "receipts": [{"id": "", "tool": "", "input": "", "output": "", "time": "", "failed?": True, "command?": "", "command_digest?": ""}],
    "observations": [{"version": 0, "client": "", "tool": "", "outcome": "", "savant?": True}],
    "claims": [{"step": "", "status": "", "grade": "", "version?": 0, "how?": "", "by?": "", "receipt?": ""}],
    "refusals?": [{"time": "", "tool": "", "rules": [""]}],
    "models?": [{"grade": "", "model?": "", "client?": ""} | CALLS]}}
# Of a record the members that count; it may have others, and an absent one or null is empty.
DATA = {"step": "", "call": "", "status": "", "allowed": "", "digest": "", "witness": "", "receipt": "", "by": "", "by_claims": "", "to": 0, "result_ref": "", "schemas": "",
    "pins": {"": {"version": "", "digest": "", "file": ""}}, "used": {"prompt_tokens": 0, "output_tokens": 0,
        "models": [{"model": "", "calls": 0, "prompt_tokens": 0, "output_tokens": 0, "remote": True}]}}
RECORD = {"version": 0, "kind": "", "prev": "", "hash": "", "time": "", "data": DATA}

class Refused(Exception): pass

def need(good, reason):
    if not good: raise Refused(reason)

def fits(value, shape):
    if isinstance(shape, list): return isinstance(value, list) and all(fits(each, shape[0]) for each in value)
    if not isinstance(shape, dict): return type(value) is type(shape)
    if not isinstance(value, dict): return False
    if "" in shape: return all(fits(each, shape[""]) for each in value.values())
    known = {name.rstrip("?"): name for name in shape}
    return set(value) <= set(known) and all(
        fits(value[plain], shape[name]) and (plain == name or bool(value[plain])) if plain in value else plain != name for plain, name in known.items())

def filled(value, shape):
    """The members of a record that count, each there and of its type, beside the others."""
    if isinstance(shape, list):
        need(value is None or isinstance(value, list), "STATEMENT")
        return [filled(each, shape[0]) for each in value or []]
    if not isinstance(shape, dict):
        value = int(value) if type(value) is float and value.is_integer() else value
        need(shape is None or value is None or type(value) is type(shape), "STATEMENT")
        return type(shape)() if value is None and shape is not None else value
    value = {} if value is None else value
    need(isinstance(value, dict), "STATEMENT")
    if "" in shape: return {name: filled(each, shape[""]) for name, each in value.items()}
    return value | {name: filled(value.get(name), each) for name, each in shape.items()}

def unique(pairs):
    need(len(dict(pairs)) == len(pairs), "STATEMENT")
    return dict(pairs)

def entries_of(p):
    """Reads the records, and gives those of format 2 the hashes that are left out."""
    lines, entries, before, hidden = [], [], "", False
    for line in p["records"]:
        need(START.match(line) and line.endswith("}") and "\n" not in line and "\r" not in line, "STATEMENT")
        hidden = hidden or p["format"] == 1 or bool(set(p["redactions"]) & set(PLACEHOLDER.findall(line)))
        if not hidden:
            line = line[:-1] + ',"prev":"%s"' % before
            before = sha256((line + "}").encode())
            line += ',"hash":"%s"}' % before
        lines.append(line)
        entries.append(filled(json.loads(line, object_pairs_hook=unique), RECORD))
    return lines, entries

def canonical(value):
    if isinstance(value, dict):
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in sorted(value, key=lambda name: name.encode("utf-16-be"))) + "}"
    if isinstance(value, list): return "[" + ",".join(map(canonical, value)) + "]"
    return number(float(value)) if type(value) in (int, float) else json.dumps(value, ensure_ascii=False)

def number(value):
    """A number as JavaScript writes it, which RFC 8785 asks for."""
    if value == 0: return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + exponent
    if 0 < point <= 21: text = text[:point].ljust(point, "0") + "." * (len(text) > point) + text[point:]
    elif -6 < point <= 0: text = "0." + "0" * -point + text
    else: text = text[0] + ("." + text[1:] if len(text) > 1 else "") + "e%+d" % (point - 1)
    return "-" * sign + text

def sha256(data): return hashlib.sha256(data).hexdigest()

def read(text, reason):
    try:
        value = json.loads(text)
        need(canonical(value).encode() == text, reason)
        return value
    except (ValueError, RecursionError, UnicodeError):
        raise Refused(reason)

def decoded(text, reason):
    try:
        data = base64.b64decode(text, validate=True)
        need(base64.b64encode(data).decode() == text, reason)
        return data
    except ValueError:
        raise Refused(reason)

def key_of(sig):
    try:
        need(sig[:10] == b"SSHSIG\0\0\0\1", "SIGNATURE")
        size = struct.unpack(">I", sig[10:14])[0]
        return "SHA256:" + base64.b64encode(hashlib.sha256(sig[14:14 + size]).digest()).decode().rstrip("=")
    except struct.error:
        raise Refused("SIGNATURE")

def keygen(args, sig, message):
    with tempfile.NamedTemporaryFile() as file:
        body = base64.encodebytes(sig).decode()
        file.write(("-----BEGIN SSH SIGNATURE-----\n" + body + "-----END SSH SIGNATURE-----\n").encode())
        file.flush()
        return subprocess.run(["ssh-keygen", "-Y"] + args + ["-n", "proof@savant", "-s", file.name], input=message, capture_output=True)

def signatures(envelope, payload, allowed):
    message = b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload)
    counted, stamps, seen = 0, [], set()
    for each in envelope["signatures"]:
        sig = decoded(each["sig"], "SIGNATURE")
        need(key_of(sig) == each["keyid"] and each["keyid"] not in seen, "SIGNATURE")
        seen.add(each["keyid"])
        need(keygen(["check-novalidate"], sig, message).returncode == 0, "SIGNATURE")
        if "timestamp" in each:
            token = decoded(each["timestamp"], "TIMESTAMP")
            at = re.search(rb"\x18.(\d{14})(\.\d+)?Z", token)
            need(b"\x04\x20" + hashlib.sha256(sig).digest() in token and at, "TIMESTAMP")
            stamps.append(at.group(1).decode())
        who = keygen(["find-principals", "-f", allowed], sig, b"").stdout.decode().split("\n")[0]
        if who and keygen(["verify", "-f", allowed, "-I", who], sig, message).returncode == 0:
            counted += 1
    return counted, stamps

def effective(entries):
    line, at = [], len(entries)
    while at > 0:
        if entries[at - 1]["kind"] == "reset":
            to = entries[at - 1]["data"].get("to", 0)
            need(1 <= to < at, "CHAIN")
            at = to
            continue
        line.append(entries[at - 1])
        at -= 1
    return line[::-1]

def models(entries, imported):
    found = []
    def add(who, took):
        one = next((each for each in found if {k: v for k, v in each.items() if k not in CALLS and k + "?" not in CALLS} == who), None)
        if one is None: found.append(one := dict(who))
        for name in ("calls", "prompt_tokens", "output_tokens"):
            one[name] = one.get(name, 0) + took[name]
    for entry in entries:
        data = entry["data"]
        for each in data["used"]["models"] if entry["kind"] == "result" else []:
            word = "reported" if each["remote"] or entry["version"] <= imported else "seen"
            add({"grade": word} | ({"model": each["model"]} if each["model"] else {}), each)
        if entry["kind"] == "result" and not data["used"]["models"] and data["witness"] != "gateway" and not data["call"]:
            add({"grade": "reported"} | ({"client": data["by_claims"]} if data["by_claims"] else {}), data["used"] | {"calls": 1})
    return [{k: v for k, v in each.items() if v or k == "calls"} for each in found]

def grade(entry, imported, observed):
    data, claim = entry["data"], {"step": entry["data"]["step"], "version": entry["version"]}
    if data.get("by"): claim["by"] = data["by"]
    if entry["version"] <= imported: return claim | {"grade": "imported"}
    if entry["kind"] == "person":
        return claim | {"grade": "person", "how": data["by"] if data.get("by") in ("terminal", "hub") else "client"}
    if data.get("witness") == "gateway":
        return claim | {"grade": "gateway"} | {k: v for k, v in (("receipt", data["receipt"]), ("how", data["allowed"])) if v}
    return claim | {"grade": "hook" if entry["version"] in observed else "said"}

def verify(file, allowed):
    need(file.endswith(b"\n"), "ENVELOPE")
    envelope = read(file[:-1], "ENVELOPE")
    need(fits(envelope, ENVELOPE) and envelope["payloadType"] == TYPE and 0 < len(envelope["signatures"]) <= 16, "ENVELOPE")
    payload = decoded(envelope["payload"], "ENVELOPE")
    counted, stamps = signatures(envelope, payload, allowed)
    try:
        statement = read(payload, "STATEMENT")
        need(fits(statement, STATEMENT), "STATEMENT")
        p, entries = statement["predicate"], []
        lines, entries = entries_of(p)
    except (Refused, ValueError, RecursionError):
        p = None
    if p and entries and stamps:
        try:
            need(TIME.fullmatch(entries[-1]["time"]), "TIMESTAMP")
            last = datetime.fromisoformat(entries[-1]["time"][:19]).strftime("%Y%m%d%H%M%S")
        except ValueError:
            raise Refused("TIMESTAMP")
        need(all(stamp >= last for stamp in stamps), "TIMESTAMP")
    need(counted > 0, "KEY")
    need(p and statement["_type"] == "https://in-toto.io/Statement/v1" and statement["predicateType"] == TYPES.get(p["format"]), "STATEMENT")
    need(len(entries) == p["run"]["records"] > 0 and (p["format"] > 1 or not {"models", "refusals"} & p.keys()), "STATEMENT")
    listed, used, first = set(p["redactions"]), {r["input"] for r in p["receipts"]}, len(entries)
    need(sorted(listed) == p["redactions"] and all(PLACEHOLDER.fullmatch('"%s"' % each) for each in listed), "REDACTION")
    for i, (line, entry) in enumerate(zip(lines, entries)):
        found = listed & set(PLACEHOLDER.findall(line))
        used |= found
        first = min(first, i) if found else first
        if i >= first:
            rest = {name: value for name, value in entry.items() if name not in ("prev", "hash", "state", "data")}
            rest["data"] = {name: value for name, value in entry["data"].items() if name not in MAY_HIDE}
            need(entry["hash"] in listed and not listed & set(PLACEHOLDER.findall(canonical(rest))), "REDACTION")
    need(listed <= used, "REDACTION")
    before = ""
    for i, (line, entry) in enumerate(zip(lines, entries)):
        need(entry["version"] == i + 1 and entry["prev"] == before, "CHAIN")
        need(i or (entry.get("format"), entry.get("workflow"), entry.get("run")) == (1, p["run"]["workflow"], p["run"]["id"]), "CHAIN")
        body, end = line[:-len(',"hash":""}') - 64], ',"hash":"%s"}' % entry["hash"]
        need(i >= first or line == body + end and sha256((body + "}").encode()) == entry["hash"], "CHAIN")
        before = entry["hash"]
    need(before == p["run"]["head"], "CHAIN")
    line, plan = effective(entries), entries[0]["data"]
    sources = [{"name": name} | {k: v for k in ("version", "file", "digest") if (v := plan["pins"][name][k]) or k == "digest"} for name in sorted(plan["pins"])]
    need(p["sources"] == sources + ([{"digest": plan["schemas"]}] if plan.get("schemas") else []), "SOURCE")
    refs = {e["data"]["result_ref"] for e in entries if e["data"].get("result_ref")} - listed
    need(set(p["texts"]) == {s["digest"] for s in p["sources"]} | refs, "SOURCE")
    need(all(sha256(text.encode()) == digest for digest, text in p["texts"].items()), "SOURCE")
    kept = {e["data"].get("receipt"): e["data"]["digest"] for e in line if e["data"].get("witness") == "gateway"}
    need(all(r["id"] and kept.get(r["id"]) == r["output"] for r in p["receipts"]), "RECEIPT")
    observed, imported = {o["version"] for o in p["observations"] if o["outcome"] != "unseen"}, p["run"].get("imported", 0)
    need(all(o["version"] == 0 and o["outcome"] == "succeeded" or 1 <= o["version"] <= len(entries) and entries[o["version"] - 1]["kind"] == "result" for o in p["observations"]), "CLAIM")
    answered = {e["data"]["step"]: grade(e, imported, observed) for e in line if e["kind"] in ("result", "person")}
    need(len({c["step"] for c in p["claims"]}) == len(p["claims"]) and set(answered) <= {c["step"] for c in p["claims"]}, "CLAIM")
    for claim in p["claims"]:
        other = {"step": claim["step"], "grade": claim["grade"] if claim["grade"] in ("engine", "absent") else ""}
        need(claim == answered.get(claim["step"], other) | {"status": claim["status"]}, "CLAIM")
    if p["run"]["workflow"] == "agent.run":
        by, last = {e["data"]["step"]: e["data"] for e in line if e["kind"] in ("result", "person")}, entries[-1]
        need(all(c["step"] in by and c["status"] == by[c["step"]]["status"] for c in p["claims"]), "CLAIM")
        need(p["graph"] == [{"id": c["step"], "call": by[c["step"]]["call"], "deps": []} for c in p["claims"] if by[c["step"]]["call"]], "CLAIM")
        need(p["run"]["status"] == (last["data"]["status"] if last["kind"] == "finished" else "interrupted"), "CLAIM")
    need(p["format"] == 1 or p.get("models", []) == models(entries, imported), "CLAIM")
    try:
        end = filled(entries[-1]["data"].get("reply"), {"reply": {"outputs": {"": None}, "artifacts": [{"name": "", "sha256": ""}]}})["reply"]
    except Refused:
        end = {"outputs": {}, "artifacts": []}
    subjects(statement["subject"], p, line, imported, end)

def subjects(given, p, line, imported, end):
    head, stated = p["run"]["head"], [s["digest"].get("gitCommit", "") for s in given if s["name"] == "commit:stated"][:1]
    want = [{"name": "run", "digest": {"saltedSha256": head[9:]} if head.startswith("redacted:") else {"sha256": head}}]
    seen = [e["data"]["result"]["head"] for e in line if e["kind"] == "result" and e["data"].get("witness") == "gateway" and e["version"] > imported
            and isinstance(e["data"].get("result"), dict) and isinstance(e["data"]["result"].get("head"), str) and HEX.fullmatch(e["data"]["result"]["head"])]
    want += [{"name": "commit:seen", "digest": {"gitCommit": seen[-1]}}] if seen else []
    want += [{"name": "commit:stated", "digest": {"gitCommit": commit}} for commit in stated if HEX.fullmatch(commit)]
    want += [{"name": "artifact:" + a["name"], "digest": {"sha256": a["sha256"]}} for a in end["artifacts"]]
    outputs = end["outputs"]
    want += [{"name": "output:" + n, "digest": {"sha256": sha256(canonical(outputs[n]).encode())}} for n in sorted(outputs)]
    need(given == want, "SUBJECT")

for name in sys.argv[2:]:
    try:
        verify(open(name, "rb").read(), sys.argv[1])
        print("verified")
    except (Refused, KeyError, TypeError, AttributeError, ValueError) as why:
        print(why if isinstance(why, Refused) else "STATEMENT")
