"""Verifies proofs of runs: verify.py ALLOWED_SIGNERS REVOKED_KEYS FILE... It follows docs/proof.md
and needs Python 3 and ssh-keygen alone. For each file it prints "verified" and what is the signer's word, or the reason."""
import base64, decimal, hashlib, json, pathlib, re, subprocess, sys, tempfile
# Shapes: a list of one holds any number of it, "" as a name stands for any name, None for anything.
def texts(names): return dict.fromkeys(names.split(), "")
ENVELOPE = texts("payload payloadType") | {"signatures": [texts("keyid sig timestamp")]}
STATEMENT = texts("_type predicateType") | {"subject": [{"name": "", "digest": {"": ""}}]}
PREDICATE = {"run": texts("workflow id status head") | {"imported": 0, "whole": 0}, "made": texts("by time"), "texts": [""],
    "graph": [texts("id call") | {"deps": [""]}], "records": [""], "claims": [texts("step status grade how") | {"version": 0}],
    "receipts": [texts("id tool input output time command command_digest") | {"failed": True}],
    "observations": [texts("client tool outcome") | {"version": 0, "savant": True}], "refusals": [texts("time tool") | {"rules": [""]}]}
RECORD = texts("workflow run kind time status state prev hash") | {"format": 0, "version": 0, "data": texts("step call status allowed digest witness receipt by by_claims result_ref schemas") | {
    "to": 0, "pins": {"": texts("digest file")}, "result": None, "reply": None}}
REPLY = {"reply": {"outputs": {"": None}, "artifacts": [texts("name sha256")]}}
RULES, HIDDEN = {"rules": [texts("file text")]}, "params result reply warnings shown digest value size result_ref reason input".split()
PLACEHOLDER, WITHIN = re.compile("redacted:[0-9a-f]{64}"), re.compile('"redacted:[0-9a-f]{64}"')
COMMIT, TIME = re.compile("[0-9a-f]{40}([0-9a-f]{24})?"), re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.A)
KINDS = re.compile(rb"SSHSIG\x00\x00\x00\x01.{8}(ssh-ed25519\x00.*[\x00-\x0f]\Z|ecdsa-sha2-nistp(256|384|521)\x00)", re.S)
def need(good):
    if not good: raise ValueError
def take(value, shape, whole): # of a value that is not whole, other members may be there, and any may be absent or null
    if shape is None: return value
    if value is None and not whole: value = type(shape)()
    if type(value) is float and value.is_integer() and abs(value) < 2**53: value = int(value)
    need(type(value) is type(shape))
    if type(value) is list: return [take(each, shape[0], whole) for each in value]
    if type(value) is str: need(whole or not re.search("[\ud800-\udfff\ufffd]", value))
    if type(value) is not dict: return value
    if "" in shape: return {take(name, "", whole): take(each, shape[""], whole) for name, each in value.items()}
    need(not whole or set(value) == set(shape))
    return {name: take(value.get(name), each, whole) for name, each in shape.items()}
def formed(text): return re.sub("[\ud800-\udfff]", "\ufffd", text)
def unique(pairs): return dict(pairs) if len({formed(name) for name, _ in pairs}) == len(pairs) else need(False)
def load(text): return json.loads(text, object_pairs_hook=unique, parse_int=float, parse_constant=lambda _: need(False))
def sha256(text): return hashlib.sha256(text.encode()).hexdigest()
def in_order(names): return sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
def canonical(value):
    if type(value) is dict: return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in in_order(value)) + "}"
    if type(value) is list: return "[" + ",".join(map(canonical, value)) + "]"
    if type(value) is str: return json.dumps(formed(value), ensure_ascii=False)
    if type(value) is not float: return json.dumps(value)
    need(abs(value) < float("inf"))
    if value == 0 or 1e-6 <= abs(value) < 1e21: return format(decimal.Decimal(repr(value + 0)), "f").removesuffix(".0") # -0 is 0
    return re.sub(r"e([+-])0?", r"e\1", repr(value))
def read(text, shape):
    need(canonical(value := load(text)).encode() == text)
    return take(value, shape, True)
def decoded(text):
    need(base64.b64encode(data := base64.b64decode(text, validate=True)).decode() == text)
    return data

def keygen(args, sig, message): # what ssh-keygen prints of a signature, or "" if it refuses it
    with tempfile.NamedTemporaryFile(buffering=0) as file:
        file.write(b"-----BEGIN SSH SIGNATURE-----\n" + base64.encodebytes(sig) + b"-----END SSH SIGNATURE-----\n")
        done = subprocess.run(["ssh-keygen", "-Y", *args, "-n", "proof@savant", "-s", file.name], input=message, capture_output=True)
    return "" if done.returncode else done.stdout.decode()

def records(given, whole, before=""): # the whole ones get the hashes that are left out
    for line in given[:whole]:
        need(line.endswith("}"))
        before = sha256(body := line[:-1] + ',"prev":"%s"}' % before)
        yield load(body[:-1] + ',"hash":"%s"}' % before)
    yield from map(load, given[whole:])
def effective(entries):
    line, to = [], len(entries)
    for each in reversed(entries):
        if each["version"] > to: continue
        if each["kind"] != "reset": line.insert(0, each)
        else: need(1 <= (to := each["data"]["to"]) < each["version"])
    return line
def claim(entry, imported, seen, proven):
    data, how, grade = entry["data"], "", "said"
    if entry["version"] <= imported: grade = "imported"
    elif entry["kind"] == "person": grade, how = "person", data["by"] if data["by"] in ("terminal", "hub") else "client"
    elif data["witness"] == "gateway": grade, how = "gateway" if proven else "recorded", data["allowed"]
    elif entry["version"] in seen: grade = "hook"
    return {"step": data["step"], "status": data["status"], "grade": grade, "how": how, "version": entry["version"]}
def subjects(run, last, results, stated):
    yield "run", {"saltedSha256": run["head"][9:]} if run["head"].startswith("redacted:") else {"sha256": run["head"]}
    heads = [each["head"] for each in results if type(each) is dict and type(each.get("head")) is str and COMMIT.fullmatch(each["head"])]
    yield from [("commit:seen", {"gitCommit": commit}) for commit in heads[-1:]] + [("commit:stated", {"gitCommit": commit}) for commit in stated]
    try: end = take(last["data"]["reply"], REPLY, False)["reply"]
    except ValueError: return  # it is redacted, or there is none
    yield from [("artifact:" + each["name"], {"sha256": each["sha256"]}) for each in end["artifacts"]]
    yield from [("output:" + name, {"sha256": sha256(canonical(end["outputs"][name]))}) for name in in_order(end["outputs"])]
def stamped(token, sig): # the time in the TSTInfo of a token, which follows its type, and must have the imprint of the signature
    info = token.partition(b"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x04")[2][:200]
    return re.search(re.escape(b"\x04\x20" + hashlib.sha256(sig).digest()) + rb"\x02.{2,24}?\x18.(\d{14})(\.\d+)?Z", info, re.S)[1].decode()

def verify(name, allowed, revoked):
    """Yields the reason for which the file is refused if what follows fails, and last the verdict."""
    yield "ENVELOPE"
    envelope = read((file := pathlib.Path(name).read_bytes())[:-1], ENVELOPE)
    need(file.endswith(b"\n") and envelope["payloadType"] == "application/vnd.in-toto+json" and 0 < len(envelope["signatures"]) <= 16)
    payload, signed = decoded(envelope["payload"]), {}
    yield "SIGNATURE"
    for each in envelope["signatures"]:
        sig, message = decoded(each["sig"]), b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload)
        who = keygen(["find-principals", "-f", allowed], sig, b"").split("\n")[0]
        good = who and keygen(["verify", "-f", allowed, "-I", who, "-r", revoked], sig, message)
        need(each["keyid"] not in signed and KINDS.match(sig) and (good or keygen(["check-novalidate"], sig, message)).endswith(" key " + each["keyid"] + "\n"))
        signed[each["keyid"]] = sig, good
    yield "KEY"
    need(any(good for _, good in signed.values()))
    yield "STATEMENT"
    statement = read(payload, STATEMENT | {"predicate": PREDICATE | ({} if (old := b'"predicateType":"urn:savant:proof:v3"' in payload) else RULES)})
    p, run = statement["predicate"], statement["predicate"]["run"]
    need(statement["_type"] == "https://in-toto.io/Statement/v1" and statement["predicateType"] == "urn:savant:proof:v%d" % (3 if old else 4) and p["records"])
    need(all(0 <= run[each] <= len(p["records"]) for each in ("whole", "imported")))
    lines = list(records(p["records"], run["whole"]))
    entries = [take(line, RECORD, False) for line in lines]
    yield "REDACTION"
    for line, entry in list(zip(lines, entries))[run["whole"]:]:
        data = {name: each for name, each in (line.get("data") or {}).items() if name not in HIDDEN}
        need(PLACEHOLDER.fullmatch(entry["hash"]) and not WITHIN.search(json.dumps(line | {"data": data, "prev": 0, "hash": 0, "state": 0})))
    yield "CHAIN"
    first, last, line = entries[0], entries[-1], effective(entries)
    need(all(each["version"] == i + 1 and each["prev"] == (entries[i - 1]["hash"] if i else "") for i, each in enumerate(entries)))
    need((first["format"], first["workflow"], first["run"], last["status"], last["hash"]) == (1, run["workflow"], run["id"], run["status"], run["head"]))
    yield "SOURCE"
    named = {pin["digest"] for pin in first["data"]["pins"].values()} | {first["data"]["schemas"]} - {""}
    named |= {ref for each in entries if (ref := each["data"]["result_ref"]) and not PLACEHOLDER.fullmatch(ref)}
    need([sha256(text) for text in p["texts"]] == sorted(named))
    yield "RECEIPT"
    rest = (each for each in line if each["data"]["witness"] == "gateway" and each["data"]["receipt"]) # in the order of the receipts
    proven = {next(each["version"] for each in rest if (each["data"]["receipt"], each["data"]["digest"]) == (one["id"], one["output"])) for one in p["receipts"]}
    yield "CLAIM"
    need({each["version"] for each in p["observations"]} <= {0} | {each["version"] for each in entries if each["kind"] == "result"})
    seen, agent = {each["version"] for each in p["observations"] if each["outcome"] != "unseen"}, run["workflow"] == "agent.run"
    answered = {each["data"]["step"]: claim(each, run["imported"], seen, old or each["version"] in proven) for each in line if each["kind"] in ("result", "person")}
    need(len(claimed := {each["step"]: each for each in p["claims"]}) == len(p["claims"]) and set(answered) <= set(claimed) and not (agent and p["graph"]))
    for step, each in claimed.items():
        need(step in answered or not agent and each["grade"] in ("engine", "absent"))
        want = answered.get(step, each | {"how": "", "version": 0})
        need(each == want | {"status": want["status"] or each["status"]})
    yield "SUBJECT"
    stated = [each["digest"]["gitCommit"] for each in statement["subject"] if each["name"] == "commit:stated"][:1]
    results = [each["data"]["result"] for each in line if each["kind"] == "result" and each["data"]["witness"] == "gateway" and each["version"] > run["imported"]]
    need(all(map(COMMIT.fullmatch, stated)) and [(each["name"], each["digest"]) for each in statement["subject"]] == list(subjects(run, last, results, stated)))
    yield "TIMESTAMP"
    for each in envelope["signatures"]:
        need(each["timestamp"] == "" or TIME.fullmatch(last["time"]) and stamped(decoded(each["timestamp"]), signed[each["keyid"]][0]) >= re.sub(r"\D", "", last["time"])[:14])
    lacks = [step for step, each in answered.items() if each["grade"] in ("gateway", "recorded") and each["version"] not in proven]
    yield "; the signer's word, without a receipt: ".join(["verified"] + [str(len(lacks))] * bool(lacks))

for name in sys.argv[3:]:
    try:
        for reason in verify(name, *sys.argv[1:3]): pass
    except Exception: pass
    print(reason)
