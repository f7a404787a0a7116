package proofs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"savant"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
	"savant/proof"
	"savant/proof/keys"
	"savant/think"
	"savant/think/library"
)

// trusted is what the flags say of whose signatures count.
type trusted struct {
	keys    []string
	allowed string
	roots   string
	signers int
}

func (t *trusted) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringSliceVar(&t.keys, "key", nil, "of a proof: a public key whose signature counts, by name or file; may be repeated")
	flags.StringVar(&t.allowed, "allowed-signers", "", "of a proof: a file of keys that count, in the format of ssh-keygen")
	flags.StringVar(&t.roots, "timestamp-roots", "", "of a proof: certificates of the authorities whose time stamps count, in PEM; a time stamp of another is refused")
	flags.IntVar(&t.signers, "signers", 1, "of a proof: how many keys that count must have signed")
}

// WithFiles makes `savant verify` take the file of a proof in the place of a run, also
// outside of every folder.
func WithFiles(shared *cli.Program, command *cobra.Command) *cobra.Command {
	p, in, run := &program{shared}, &trusted{}, command.RunE
	in.flags(command)
	command.Use = "verify RUN|FILE.proof"
	command.Long += "\n\nFILE.proof is checked without the folder that it comes from: that a key which counts has signed it (--key, --allowed-signers;\n" +
		"without both, your own keys), that every record follows from the one before, and that each step is known as the\n" +
		"file claims. Exit code 3 and the reason if anything is wrong."
	command.RunE = func(command *cobra.Command, args []string) error {
		if strings.HasSuffix(args[0], ".proof") {
			return p.verifyFile(command.Context(), args[0], *in)
		}
		if len(in.keys) > 0 || in.allowed != "" || in.roots != "" || in.signers != 1 {
			return cli.UsageError("--key, --allowed-signers, --timestamp-roots and --signers are for a file, whose name ends in .proof")
		}
		return run(command, args)
	}
	return command
}

func (p *program) verifyFile(ctx context.Context, file string, in trusted) error {
	content, err := p.ReadFile(file, proof.MaxFile)
	if err != nil {
		return err
	}
	trust, err := p.trust(in)
	if err != nil {
		return err
	}
	engine := replayer()
	defer engine.Close()
	report := proof.Verify(ctx, content, trust, engine)
	if p.JSON {
		err = p.Print(report)
	} else {
		err = p.printReport(file, report)
	}
	if err == nil && !report.Verified {
		return cli.StatusError(cli.ExitInvalid)
	}
	return err
}

// replayer is an engine that computes runs again; it keeps none.
func replayer() *think.Engine {
	return think.New(think.Options{Library: library.New(library.Layer{Files: savant.Files})})
}

// trust returns the keys that the flags name, and else the person's own.
func (p *program) trust(in trusted) (trust proof.Trust, err error) {
	trust = proof.Trust{Signers: in.signers, Now: time.Now()}
	if trust.Stamps, err = stamps(in.roots); err != nil {
		return trust, err
	}
	ring, err := p.openRing()
	if err == nil {
		trust.Revoked, err = ring.Revoked()
	}
	if err != nil && len(in.keys) == 0 && in.allowed == "" {
		return trust, err // else keys are named, and the ring is not needed
	}
	for _, each := range in.keys {
		found, err := named(ring, each)
		if err != nil {
			return trust, err
		}
		trust.Allowed = append(trust.Allowed, found...)
		trust.Claimed = trust.Claimed || isKeyFile(each) && p.brought(each)
	}
	if in.allowed != "" {
		text, err := keys.File(in.allowed)
		if err != nil {
			return trust, err
		}
		trust.Claimed = trust.Claimed || p.brought(in.allowed)
		found, err := keys.AllowedSigners(text)
		if err != nil {
			return trust, err
		}
		trust.Allowed = append(trust.Allowed, found...)
	}
	if len(in.keys) > 0 || in.allowed != "" {
		return trust, nil
	}
	own, err := ring.List()
	for _, each := range own {
		trust.Allowed = append(trust.Allowed, keys.Allowed{Name: each.Name, Fingerprint: each.Fingerprint})
	}
	return trust, err
}

// brought reports whether the project brings a file that says whose signature counts: then
// that is only its claim.
func (p *program) brought(file string) bool {
	project, err := app.AbsolutePath(p.Settings)
	return err != nil || regular.Controls(project, file)
}

func isKeyFile(key string) bool { return strings.ContainsAny(key, `/.`) }

// named returns the public keys of a name of the ring, or of a file.
func named(ring keys.Ring, key string) ([]keys.Allowed, error) {
	if !isKeyFile(key) {
		own, err := ring.Show(key)
		return []keys.Allowed{{Name: own.Name, Fingerprint: own.Fingerprint}}, err
	}
	text, err := keys.File(key)
	if err != nil {
		return nil, err
	}
	return keys.PublicKeys(text)
}

func (p *program) printReport(file string, report proof.Report) error {
	var out strings.Builder
	tell := func(what, format string, args ...any) {
		fmt.Fprintf(&out, "  %-10s %s\n", what, terminal.Visible(fmt.Sprintf(format, args...)))
	}
	verdict := "verified"
	if !report.Verified {
		verdict = "refused: " + string(report.Reason.Code) + ": " + report.Reason.Message
	}
	fmt.Fprintf(&out, "%s: %s\n", terminal.Visible(file), terminal.Visible(verdict))
	for _, each := range report.Signers {
		counts := "counts"
		if !each.Counts {
			counts = each.Why
		}
		if each.Stamped != "" {
			counts += ", stamped " + each.Stamped + " by " + each.StampedBy
		}
		tell("signed by", "%s: %s", strings.TrimSpace(each.Fingerprint+" "+each.Name), counts)
	}
	if run := report.Run; run.ID != "" {
		tell("run", "%s/%s is %s, %s; made %s by %s", run.Workflow, run.ID, run.Status, terminal.Count(report.Records, "record"), report.Made.Time, report.Made.By)
		tell("steps", "%s", counted(report.Counts))
		for _, each := range report.Models {
			tell("answered", "%s", each.Describe())
		}
		for _, each := range report.Rules {
			tell("rules", "%s, SHA-256 %s", each.File, jsonvalue.HexSum([]byte(each.Text)))
		}
		if refusals := report.Refusals; len(refusals) > 0 {
			var by []string
			for _, each := range refusals {
				by = append(by, each.Rules...)
			}
			slices.Sort(by)
			tell("refused", "%s, by rules: %s", terminal.Count(len(refusals), "call"), strings.Join(slices.Compact(by), ", "))
		}
	}
	if report.Verified {
		if report.Replayed {
			tell("replayed", "every state and instruction follows from the workflow")
		} else if run := report.Run; run.Workflow == proof.AgentRun {
			tell("replayed", "not: what a model decided cannot be computed again")
		} else {
			tell("replayed", "not: values were redacted")
		}
		for _, each := range report.Limits {
			tell("not proven", "%s", each)
		}
	}
	_, err := io.WriteString(p.Stdout, out.String())
	return err
}

// counted writes counts by grade, the strongest first.
func counted(counts map[proof.Grade]int) string {
	var parts []string
	for _, grade := range proof.Grades {
		if counts[grade] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[grade], grade))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(slices.Clip(parts), ", ")
}
