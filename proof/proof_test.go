package proof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"savant"
	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/think/library"
)

const greeting = `{"text":"hello swordfish","n":42}`

// TestEachStepSaysHowItIsKnown makes the proof of a run with a step of each kind.
func TestEachStepSaysHowItIsKnown(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	statement := w.statement(w.shipped("r1", greeting))
	ada := signerOf(t, 'a')
	report := proof.Verify(t.Context(), sealed(t, statement, ada), trusting(ada), replayer(t))
	require.Nil(t, report.Reason)
	require.True(t, report.Replayed)
	grades := map[string]proof.Grade{}
	for _, each := range statement.Predicate.Claims {
		grades[each.Step] = each.Grade
	}
	require.Equal(t, map[string]proof.Grade{"status": proof.Gateway, "say": proof.Said, "count": proof.Engine, "never": proof.Absent, "ask": proof.Person}, grades)
	seen, stated := statement.Commits()
	require.Equal(t, head, seen)
	require.Empty(t, stated)
	require.Equal(t, "terminal", statement.Predicate.Claims[4].How)

	// The same without the key, and without the engine.
	require.Equal(t, proof.BadKey, proof.Verify(t.Context(), sealed(t, statement, ada), trusting(signerOf(t, 'b')), nil).Reason.Code)
	require.False(t, proof.Verify(t.Context(), sealed(t, statement, ada), trusting(ada), nil).Replayed)
}

// TestTheLibraryOfInTotoReadsAProof reads the envelope and the statement with the standard's
// own library, whole and redacted.
func TestTheLibraryOfInTotoReadsAProof(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	statement := w.statement(w.shipped("r1", greeting))
	for _, redact := range [][]string{nil, {"say.text"}} {
		_, err := proof.Redact(statement, redact)
		require.NoError(t, err)
		var envelope dsse.Envelope
		require.NoError(t, json.Unmarshal(sealed(t, statement, signerOf(t, 'a')), &envelope))
		payload, err := envelope.DecodeB64Payload()
		require.NoError(t, err)
		var read intoto.Statement
		require.NoError(t, protojson.Unmarshal(payload, &read))
		require.NoError(t, read.Validate())
		require.Equal(t, proof.PredicateType, read.GetPredicateType())
		require.Len(t, read.GetSubject(), len(statement.Subject))
		require.Equal(t, "r1", read.GetPredicate().GetFields()["run"].GetStructValue().GetFields()["id"].GetStringValue())
	}
}

// TestWhatIsRedactedIsNowhere looks for a secret and what it could be guessed from.
func TestWhatIsRedactedIsNowhere(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	key := w.shipped("r1", greeting)
	plain := w.statement(key)
	for _, rules := range [][]string{{"say.text"}, {"sword[a-z]+"}, {"say.text", "say.n"}} {
		statement := w.statement(key)
		hidden, err := proof.Redact(statement, rules)
		require.NoError(t, err)
		payload, err := statement.Payload()
		require.NoError(t, err)
		require.False(t, strings.Contains(string(payload), "swordfish"), rules)
		require.False(t, strings.Contains(string(payload), jsonvalue.HexSum([]byte(greeting))), rules)
		require.False(t, strings.Contains(string(payload), digestOf(json.RawMessage(greeting))), rules)
		require.False(t, strings.Contains(string(payload), plain.Predicate.Run.Head), rules)
		require.False(t, strings.Contains(string(payload), fmt.Sprintf(`\"size\":%d`, len(greeting))), rules)
		if len(rules) == 2 {
			require.False(t, strings.Contains(string(payload), `\"n\":42`), rules)
		}
		for _, each := range hidden {
			require.Equal(t, each.Placeholder, "redacted:"+jsonvalue.HexSum([]byte(each.Salt+each.JSON)))
		}
		ada := signerOf(t, 'a')
		report := proof.Verify(t.Context(), sealed(t, statement, ada), trusting(ada), replayer(t))
		require.Nil(t, report.Reason)
		require.Equal(t, plain.Predicate.Claims, statement.Predicate.Claims)
	}
}

// TestTheSchemaOfAProofHolds checks proofs with schemas/proof.json.
func TestTheSchemaOfAProofHolds(t *testing.T) {
	set, err := library.New(library.Layer{Files: savant.Files}).Schemas()
	require.NoError(t, err)
	schema, err := set.Lookup("proof")
	require.NoError(t, err)
	w := newWorld(t, map[string]string{"shipped": workflow})
	key := w.shipped("r1", greeting)
	agent := w.agentRun("a1")
	for _, rules := range [][]string{nil, {"say.text"}, {"agent"}} {
		statement := w.statement(key)
		if len(rules) > 0 && rules[0] == "agent" {
			statement, rules = agent, nil
		}
		_, err := proof.Redact(statement, rules)
		require.NoError(t, err)
		value, err := jsonvalue.Decode(payloadOf(t, statement))
		require.NoError(t, err)
		require.NoError(t, schema.Check(value.(map[string]any)["predicate"]))
	}
}

// TestOthersReadTheEnvelope reads it with the library of DSSE, and checks the public
// vector of its specification.
func TestOthersReadTheEnvelope(t *testing.T) {
	require.Equal(t, "DSSEv1 29 http://example.com/HelloWorld 11 hello world", string(dsse.PAE("http://example.com/HelloWorld", []byte("hello world"))))
	w := newWorld(t, map[string]string{"shipped": workflow})
	statement := w.statement(w.shipped("r1", greeting))
	file := sealed(t, statement, signerOf(t, 'a'), signerOf(t, 'b'))
	var envelope dsse.Envelope
	require.NoError(t, json.Unmarshal(file, &envelope))
	payload, err := envelope.DecodeB64Payload()
	require.NoError(t, err)
	want, err := statement.Payload()
	require.NoError(t, err)
	require.Equal(t, string(want), string(payload))
	require.Len(t, envelope.Signatures, 2)
}

// long is a workflow of many steps in a row, so that proofs of many records can be measured.
func long(steps int) string {
	var text bytes.Buffer
	text.WriteString("name: long\nversion: \"1.0\"\nsteps:\n")
	for i := range steps {
		deps := ""
		if i > 0 {
			deps = fmt.Sprintf("s%d", i-1)
		}
		fmt.Fprintf(&text, "  - {id: s%d, call: llm.generate, deps: [%s], input_template: {task: Say %d}}\n", i, deps, i)
	}
	return text.String()
}

// TestAProofIsSmall bounds the size of a proof of 1,000 steps, of a run with a name as long
// as those that Savant gives.
func TestAProofIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	const steps = 1000
	w := newWorld(t, map[string]string{"long": long(steps)})
	file := sealed(t, w.statement(w.long("01k2zr8q6c3m5n7p9r1t3v5x7z", steps)), signerOf(t, 'a'))
	t.Logf("%d bytes", len(file))
	require.Less(t, len(file), 1_500_000)
}
