"""Verifies proofs of runs: verify.py ALLOWED_SIGNERS FILE... It follows docs/proof.md and
needs Python 3 and ssh-keygen alone. For each file it prints "verified", or the reason."""
import base64, hashlib, json, re, struct, subprocess, sys, tempfile
from datetime import datetime

TYPE, HEX = "application/vnd.in-toto+json", re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
MAY_HIDE = {"params", "result", "reply", "warnings", "shown", "digest", "value", "result_ref", "reason", "input"}
PLACEHOLDER = re.compile(r'"(redacted:[0-9a-f]{64})"')

class Refused(Exception): pass

def need(good, reason):
    if not good: raise Refused(reason)

def canonical(value): return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

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

def members(value, required, optional=()):
    return isinstance(value, dict) and set(required) <= set(value) <= set(required) | set(optional)

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

def grade(entry, imported, observed):
    data, claim = entry["data"], {"step": entry["data"]["step"], "version": entry["version"]}
    if data.get("by"): claim["by"] = data["by"]
    if entry["version"] <= imported: return claim | {"grade": "imported"}
    if entry["kind"] == "person":
        return claim | {"grade": "person", "how": data["by"] if data.get("by") in ("terminal", "hub") else "client"}
    if data.get("witness") == "gateway":
        return claim | {"grade": "gateway"} | ({"receipt": data["receipt"]} if data.get("receipt") else {})
    return claim | {"grade": "hook" if entry["version"] in observed else "said"}

def verify(file, allowed):
    need(file.endswith(b"\n"), "ENVELOPE")
    envelope = read(file[:-1], "ENVELOPE")
    need(members(envelope, ("payload", "payloadType", "signatures")) and envelope["payloadType"] == TYPE, "ENVELOPE")
    need(envelope["signatures"] and all(members(s, ("keyid", "sig"), ("timestamp",)) for s in envelope["signatures"]), "ENVELOPE")
    payload = decoded(envelope["payload"], "ENVELOPE")
    counted, stamps = signatures(envelope, payload, allowed)
    try:
        statement = read(payload, "STATEMENT")
        p = statement["predicate"]
        entries = [json.loads(line) for line in p["records"]]
    except (Refused, ValueError, KeyError, TypeError):
        p = None
    if p and entries:
        last = datetime.fromisoformat(entries[-1]["time"][:19]).strftime("%Y%m%d%H%M%S")
        need(all(stamp >= last for stamp in stamps), "TIMESTAMP")
    need(counted > 0, "KEY")
    need(p and members(statement, ("_type", "subject", "predicateType", "predicate")) and p["format"] == 1, "STATEMENT")
    need(statement["_type"] == "https://in-toto.io/Statement/v1" and statement["predicateType"] == "urn:savant:proof:v1", "STATEMENT")
    need(len(entries) == p["run"]["records"] > 0 and not any("\n" in line or "\r" in line for line in p["records"]), "STATEMENT")
    listed, used, first = set(p["redactions"]), {r["input"] for r in p["receipts"]}, len(entries)
    need(sorted(listed) == p["redactions"] and all(PLACEHOLDER.fullmatch('"%s"' % each) for each in listed), "REDACTION")
    for i, (line, entry) in enumerate(zip(p["records"], entries)):
        found = listed & set(PLACEHOLDER.findall(line))
        used |= found
        first = min(first, i) if found else first
        if i >= first:
            rest = {name: value for name, value in entry.items() if name not in ("prev", "hash", "state", "data")}
            rest["data"] = {name: value for name, value in entry["data"].items() if name not in MAY_HIDE}
            need(entry["hash"] in listed and not listed & set(PLACEHOLDER.findall(canonical(rest))), "REDACTION")
    need(listed <= used, "REDACTION")
    before = ""
    for i, (line, entry) in enumerate(zip(p["records"], entries)):
        need(entry["version"] == i + 1 and entry["prev"] == before, "CHAIN")
        need(i or (entry["format"], entry["workflow"], entry["run"]) == (1, p["run"]["workflow"], p["run"]["id"]), "CHAIN")
        body, end = line[:-len(',"hash":""}') - 64], ',"hash":"%s"}' % entry["hash"]
        need(i >= first or line == body + end and sha256((body + "}").encode()) == entry["hash"], "CHAIN")
        before = entry["hash"]
    need(before == p["run"]["head"], "CHAIN")
    line, plan = effective(entries), entries[0]["data"]
    sources = [{"name": name} | {k: v for k, v in plan["pins"][name].items() if v} for name in sorted(plan["pins"])]
    need(p["sources"] == sources + ([{"digest": plan["schemas"]}] if plan.get("schemas") else []), "SOURCE")
    refs = {e["data"]["result_ref"] for e in entries if e["data"].get("result_ref")} - listed
    need(set(p["texts"]) == {s["digest"] for s in p["sources"]} | refs, "SOURCE")
    need(all(sha256(text.encode()) == digest for digest, text in p["texts"].items()), "SOURCE")
    kept = {e["data"].get("receipt"): e["data"]["digest"] for e in line if e["data"].get("witness") == "gateway"}
    need(all(r["id"] and kept.get(r["id"]) == r["output"] for r in p["receipts"]), "RECEIPT")
    observed, imported = {o["version"] for o in p["observations"]}, p["run"].get("imported", 0)
    need(all(1 <= v <= len(entries) and entries[v - 1]["kind"] == "result" for v in observed), "CLAIM")
    answered = {e["data"]["step"]: grade(e, imported, observed) for e in line if e["kind"] in ("result", "person")}
    need(len({c["step"] for c in p["claims"]}) == len(p["claims"]) and set(answered) <= {c["step"] for c in p["claims"]}, "CLAIM")
    for claim in p["claims"]:
        other = {"step": claim["step"], "grade": claim["grade"] if claim["grade"] in ("engine", "absent") else ""}
        need(claim == answered.get(claim["step"], other) | {"status": claim["status"]}, "CLAIM")
    subjects(statement["subject"], p, line, imported, entries[-1]["data"].get("reply"))

def subjects(given, p, line, imported, reply):
    head, end = p["run"]["head"], reply.get("reply", {}) if isinstance(reply, dict) else {}
    want = [{"name": "run", "digest": {"saltedSha256": head[9:]} if head.startswith("redacted:") else {"sha256": head}}]
    seen = [e["data"]["result"]["head"] for e in line if e["kind"] == "result" and e["data"].get("witness") == "gateway" and e["version"] > imported
            and isinstance(e["data"].get("result"), dict) and isinstance(e["data"]["result"].get("head"), str) and HEX.fullmatch(e["data"]["result"]["head"])]
    want += [{"name": "commit:seen", "digest": {"gitCommit": seen[-1]}}] if seen else []
    want += [s for s in given if s["name"] == "commit:stated" and HEX.fullmatch(s["digest"].get("gitCommit", ""))]
    want += [{"name": "artifact:" + a["name"], "digest": {"sha256": a["sha256"]}} for a in end.get("artifacts") or []]
    outputs = end.get("outputs") or {}  # numbers with a fraction may be written otherwise in Python
    want += [{"name": "output:" + n, "digest": {"sha256": sha256(canonical(outputs[n]).encode())}} for n in sorted(outputs)]
    need(given == want, "SUBJECT")

for name in sys.argv[2:]:
    try:
        verify(open(name, "rb").read(), sys.argv[1])
        print("verified")
    except (Refused, KeyError, TypeError, AttributeError, ValueError) as why:
        print(why if isinstance(why, Refused) else "STATEMENT")
