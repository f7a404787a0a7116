"""Verifies proofs of runs: verify.py ALLOWED_SIGNERS REVOKED_KEYS FILE... It follows docs/proof.md
and needs Python 3 and ssh-keygen alone. For each file it prints "verified" and what is the signer's word, or the reason."""
import base64, decimal, hashlib, json, pathlib, re, subprocess, sys, tempfile
# Shapes: a list of one holds any number of it, "" as a name stands for any name, None for anything.
def texts(names): return dict.fromkeys(names.split(), "")
ENVELOPE, STATEMENT = texts("payload payloadType") | {"signatures": [texts("keyid sig timestamp")]}, texts("_type predicateType") | {"subject": [{"name": "", "digest": {"": ""}}]}
PREDICATE = {"run": texts("workflow id status head") | {"imported": 0, "whole": 0}, "made": texts("by time"), "texts": [""],
    "graph": [texts("id call") | {"deps": [""]}], "records": [""], "claims": [texts("step status grade how") | {"version": 0}],
    "receipts": [texts("id tool input output time command command_digest") | {"failed": True}],
    "observations": [texts("client tool outcome") | {"version": 0, "savant": True}], "refusals": [texts("time tool") | {"rules": [""]}], "rules": [texts("file text")]}
RECORD = texts("workflow run kind time status state prev hash") | {"format": 0, "version": 0, "data": texts("step call status allowed digest witness receipt by by_claims result_ref schemas") | {
    "to": 0, "pins": {"": texts("digest file")}, "commands": {"": ""}, "result": None, "reply": None}}
ASKED, HIDDEN = texts("step_id call") | {"input": None}, "params result reply warnings shown digest value size result_ref reason input".split()
REPLY = {"reply": {"outputs": {"": None}, "artifacts": [texts("name sha256")], "instruction": ASKED, "instructions": [ASKED]}}
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
    if type(value) is not dict: return value if whole or type(value) is not str or not re.search("[\ud800-\udfff\ufffd]", value) else need(False)
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
def read(text, shape): return take(value, shape, True) if canonical(value := load(text)).encode() == text else need(False)
def decoded(text): return data if base64.b64encode(data := base64.b64decode(text, validate=True)).decode() == text else need(False)
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
def replied(entry):
    try: return take(entry["data"]["reply"], REPLY, False)["reply"]
    except ValueError: return take({}, REPLY["reply"], False)  # it is redacted, or there is none
def calls(entries, line): # the records that count and name a receipt, and what their step was asked for last
    counts, asked = {each["version"] for each in line}, {}
    for each in entries:
        data, end = each["data"], replied(each)
        if each["version"] in counts and data["witness"] == "gateway" and data["receipt"]: yield each, asked.get(data["step"], ASKED)
        asked.update((one["step_id"], one | {"time": each["time"]}) for one in end["instructions"] + [end["instruction"]])
def fits(receipt, data, asked, redacted, commands): # a receipt is of a record and of the call that was asked for, as far as they are shown
    failed, given = data["status"] == "failed" or type(data["result"]) is dict and data["result"].get("isError") is True, [asked["input"]]
    if type(asked["input"]) is dict: given += [{name: each for name, each in asked["input"].items() if each is not None}]
    return (receipt["id"], receipt["output"], receipt["tool"]) == (data["receipt"], data["digest"], data["call"] or asked["call"] or receipt["tool"]) and (
        receipt["failed"] or not failed) and (not commands or not receipt["command_digest"] or commands.get(receipt["command"]) == receipt["command_digest"]) and (
        not asked["step_id"] or all(TIME.fullmatch(each["time"]) for each in (receipt, asked)) and receipt["time"][:-1] >= asked["time"][:-1] and (
        redacted and PLACEHOLDER.fullmatch(receipt["input"]) or receipt["input"] in [sha256(canonical(each)) for each in given]))
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
    outputs, artifacts = (end := replied(last))["outputs"], [("artifact:" + each["name"], {"sha256": each["sha256"]}) for each in end["artifacts"]]
    yield from artifacts + [("output:" + name, {"sha256": sha256(canonical(outputs[name]))}) for name in in_order(outputs)]
def stamped(token, sig): # the time in the TSTInfo of a token, which follows its type, and must have the imprint of the signature
    info = token.partition(b"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x04")[2][:200]
    return re.search(re.escape(b"\x04\x20" + hashlib.sha256(sig).digest()) + rb"\x02.{2,24}?\x18.(\d{14})(\.\d+)?Z", info, re.S)[1].decode()
def verify(name, allowed, revoked): # yields the reason for which the file is refused if what follows fails, and last the verdict
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
    run = (p := (statement := read(payload, STATEMENT | {"predicate": PREDICATE}))["predicate"])["run"]
    need(statement["_type"] == "https://in-toto.io/Statement/v1" and statement["predicateType"] == "urn:savant:proof:v4" and p["records"])
    need(all(0 <= run[each] <= len(p["records"]) for each in ("whole", "imported")))
    entries = list(map(lambda line: take(line, RECORD, False), lines := list(records(p["records"], run["whole"]))))
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
    rest, redacted, commands = calls(entries, line), run["whole"] < len(entries), first["data"]["commands"] # in the order of the receipts
    proven = {next(each["version"] for each, asked in rest if fits(one, each["data"], asked, redacted, commands)) for one in p["receipts"]}
    yield "CLAIM"
    need({each["version"] for each in p["observations"]} <= {0} | {each["version"] for each in entries if each["kind"] == "result"})
    seen, agent = {each["version"] for each in p["observations"] if each["outcome"] != "unseen"}, run["workflow"] == "agent.run"
    answered = {each["data"]["step"]: claim(each, run["imported"], seen, each["version"] in proven) for each in line if each["kind"] in ("result", "person")}
    need(len(claimed := {each["step"]: each for each in p["claims"]}) == len(p["claims"]) and set(answered) <= set(claimed) and not (agent and p["graph"]))
    for step, each in claimed.items():
        want = answered.get(step, each | {"how": "", "version": 0})
        need(each == want | {"status": want["status"] or each["status"]} and (step in answered or not agent and each["grade"] in ("engine", "absent")))
    yield "SUBJECT"
    stated = [each["digest"]["gitCommit"] for each in statement["subject"] if each["name"] == "commit:stated"][:1]
    results = [each["data"]["result"] for each in line if each["kind"] == "result" and each["version"] in proven and each["version"] > run["imported"]]
    need(all(map(COMMIT.fullmatch, stated)) and [(each["name"], each["digest"]) for each in statement["subject"]] == list(subjects(run, last, results, stated)))
    yield "TIMESTAMP"
    for each in envelope["signatures"]:
        need(each["timestamp"] == "" or TIME.fullmatch(last["time"]) and stamped(decoded(each["timestamp"]), signed[each["keyid"]][0]) >= re.sub(r"\D", "", last["time"])[:14])
    lacks = sum(each["grade"] == "recorded" for each in answered.values())
    yield "verified" + ("; the signer's word, without a receipt: %d" % lacks if lacks else "")
for name in sys.argv[3:]:
    try:
        for reason in verify(name, *sys.argv[1:3]): pass
    except Exception: pass
    print(reason)
