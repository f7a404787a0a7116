package proof_test

import (
	"testing"

	"savant/proof"
)

// BenchmarkVerify measures a proof of 10,000 steps, without and with the replay.
func BenchmarkVerify(b *testing.B) {
	const steps = 10_000
	w := newWorld(b, map[string]string{"long": long(steps)})
	ada := signerOf(b, 'a')
	file := sealed(b, w.statement(w.long("r1", steps)), ada)
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			if report := proof.Verify(b.Context(), file, trusting(ada), nil); !report.Verified {
				b.Fatal(report.Reason)
			}
		}
	})
	b.Run("replay", func(b *testing.B) {
		engine := replayer(b)
		for b.Loop() {
			if report := proof.Verify(b.Context(), file, trusting(ada), engine); !report.Verified {
				b.Fatal(report.Reason)
			}
		}
	})
}
