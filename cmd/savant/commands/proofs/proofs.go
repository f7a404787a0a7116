// Package proofs holds the commands that make and check proofs of runs, and the keys that
// sign them.
package proofs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
	"savant/proof"
	"savant/proof/keys"
)

// program is the command line in this package.
type program struct{ *cli.Program }

// request is what the flags of `savant proof` ask for.
type request struct {
	workflow, output, commit, disclosures, timestamp, html string
	keys, redact                                           []string
}

// Command is `savant proof`.
func Command(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	var in request
	command := &cobra.Command{Use: "proof RUN", Short: "Make one signed file of a run that a stranger can check",
		Long: "Make one signed file of a run: its workflow, every record with its hash, the digests of receipts, and how each step is\n" +
			"known. savant verify FILE.proof checks it anywhere. docs/proof.md says what it proves and what not.\n\n" +
			"It is signed with the only key of savant key list, or with those that --key names: a name, or a file of OpenSSH.",
		Example: "  savant proof 01k2… -o release.proof\n  savant proof 01k2… --key ~/.ssh/id_ed25519.pub --redact ask.answer",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			run, err := a.FindRun(ctx, in.workflow, args[0], app.OfWorkflow, app.OfAgent)
			if err != nil {
				return err
			}
			return p.prove(ctx, a, run, in)
		})}
	flags := command.Flags()
	flags.StringVar(&in.workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	flags.StringVarP(&in.output, "output", "o", "", "the file to write; - for stdout; default RUN.proof")
	flags.StringSliceVar(&in.keys, "key", nil, "what signs: the name of a key of savant key list, or a file of OpenSSH; may be repeated")
	flags.StringVar(&in.html, "html", "", "also write one HTML file that checks and shows the proof in a browser")
	flags.StringVar(&in.commit, "commit", "", "a commit that the proof is about, which you state")
	flags.StringArrayVar(&in.redact, "redact", nil, "replace values by salted digests: STEP.FIELD, or a regular expression for texts; may be repeated")
	flags.StringVar(&in.timestamp, "timestamp", "", "the address of an authority of RFC 3161 that stamps each signature; it learns their digests and no more")
	flags.StringVar(&in.disclosures, "disclosures", "", "the file that gets what --redact replaced, with the salts")
	command.AddCommand(p.checkCommand(), p.lintCommand())
	return p.JSONFlag(command)
}

func (p *program) prove(ctx context.Context, a *app.App, run app.Run, in request) error {
	in.output = cmp.Or(in.output, run.RunID+".proof")
	if in.disclosures != "" && len(in.redact) == 0 {
		return cli.UsageError("--disclosures: nothing is redacted without --redact")
	}
	signers, err := p.signers(a.Path, in.keys)
	if err != nil {
		return err
	}
	statement, err := statementOf(ctx, a, run, proof.Request{Key: run.Key(), By: "savant " + p.World.Version, Time: time.Now(), Commit: in.commit})
	if err != nil {
		return err
	}
	clean := app.Redactor(p.World.Environment, p.Loaded).Certain()
	for i, each := range statement.Predicate.Rules { // which nothing names by digest
		statement.Predicate.Rules[i].Text = clean.Text(each.Text)
	}
	hidden, err := proof.Redact(statement, in.redact)
	if err != nil {
		return err
	}
	if found := statement.Sensitive(clean.Text); len(found) > 0 {
		fmt.Fprintf(p.Stderr, "savant: what looks like a secret is in the proof, in %s: --redact takes it out of records\n", strings.Join(found, ", "))
	}
	file, err := proof.Seal(statement, signers...)
	if err != nil {
		return err
	}
	if in.timestamp != "" {
		if file, err = proof.Stamp(ctx, file, authority(in.timestamp)); err != nil {
			return err
		}
	}
	return p.save(statement, signers, hidden, file, in)
}

// statementOf makes the statement of a run of a workflow or of the agent.
func statementOf(ctx context.Context, a *app.App, run app.Run, in proof.Request) (*proof.Statement, error) {
	if run.Kind == app.OfWorkflow {
		return runsOf(a).Build(ctx, in)
	}
	in.Key.Workflow = proof.AgentRun
	found, err := a.Agent.Evidence(ctx, run.RunID)
	if err != nil {
		return nil, err
	}
	var deeds []proof.Deed
	for _, each := range found {
		deeds = append(deeds, proof.Deed(each))
	}
	runs := runsOf(a)
	runs.Observations = nil
	return runs.BuildAgent(ctx, in, deeds)
}

// save writes the file of a proof, and what was redacted.
func (p *program) save(statement *proof.Statement, signers []ssh.Signer, hidden []proof.Disclosure, file []byte, in request) error {
	if in.disclosures != "" {
		text, err := jsonvalue.EncodeIndented(map[string]any{"values": hidden}, 1<<16)
		if err != nil {
			return fault.New(fault.Internal, "encoding what was redacted: %w", err)
		}
		if err := write(in.disclosures, append(text, '\n')); err != nil {
			return err
		}
	}
	if in.html != "" {
		page, err := proof.Page(file)
		if err != nil {
			return err
		}
		if err := write(in.html, page); err != nil {
			return err
		}
	}
	if in.output == "-" {
		_, err := p.Stdout.Write(file)
		return err
	}
	if err := write(in.output, file); err != nil {
		return err
	}
	return p.report(statement, signers, in.output, len(file), len(hidden))
}

// report says what was written.
func (p *program) report(statement *proof.Statement, signers []ssh.Signer, file string, size, hidden int) error {
	var signed []string
	for _, each := range signers {
		signed = append(signed, ssh.FingerprintSHA256(each.PublicKey()))
	}
	counts, run, records := proof.Count(statement.Predicate.Claims), statement.Predicate.Run, len(statement.Predicate.Records)
	if p.JSON {
		return p.Print(map[string]any{"file": file, "bytes": size, "run": run, "records": records, "counts": counts, "signed": signed, "redactions": hidden})
	}
	_, err := fmt.Fprintf(p.Stdout, "%s: %s, steps %s\n  signed by %s\n", terminal.Visible(file), terminal.Count(records, "record"), counted(counts), terminal.Visible(fmt.Sprint(signed)))
	return err
}

// write replaces a file, for its owner only: a proof holds what the run did.
func write(file string, content []byte) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.InvalidParams, "%s is not a file", file)
	}
	if err := cli.WriteFile(file, content, 0o600); err != nil {
		return fault.New(fault.StateNotSaved, "%s was not written: %w", file, fault.WithoutPath(err))
	}
	return nil
}

// ring returns the person's keys: INVALID_PARAMS where a project could bring them.
func (p *program) ring(project string) (keys.Ring, error) {
	folder := app.Configuration(p.World.Environment)
	if folder == "" {
		return keys.Ring{}, fault.New(fault.InvalidParams, "there is no folder of configuration for keys: set HOME or XDG_CONFIG_HOME")
	}
	folder = filepath.Join(folder, "savant", "keys")
	if regular.Controls(project, folder) {
		return keys.Ring{}, fault.New(fault.InvalidParams, "the folder of keys is inside of SAVANT_PATH or of its repository, where a clone could bring it: set XDG_CONFIG_HOME to another place")
	}
	return keys.Open(folder), nil
}

// signers returns what signs: the named keys, or the only one of the ring.
func (p *program) signers(project string, named []string) (signers []ssh.Signer, err error) {
	ring, err := p.ring(project)
	if err != nil {
		return nil, err
	}
	if len(named) == 0 {
		if named, err = only(ring); err != nil {
			return nil, err
		}
	}
	socket, _ := p.Variable("SSH_AUTH_SOCK")
	for _, each := range named {
		signer, err := ring.Signer(each, socket)
		if err != nil {
			return nil, err
		}
		fingerprint := ssh.FingerprintSHA256(signer.PublicKey())
		if !slices.ContainsFunc(signers, func(other ssh.Signer) bool { return ssh.FingerprintSHA256(other.PublicKey()) == fingerprint }) { // named twice it signs once
			signers = append(signers, signer)
		}
	}
	return signers, nil
}

// only returns the name of the ring's only key that counts.
func only(ring keys.Ring) ([]string, error) {
	all, err := ring.List()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(each keys.Key) bool { return each.Revoked })
	switch len(all) {
	case 1:
		return []string{all[0].Name}, nil
	case 0:
		return nil, fault.New(fault.InvalidParams, "no key signs the proof: savant key new NAME makes one, --key names a file of OpenSSH")
	}
	return nil, fault.New(fault.InvalidParams, "there are %d keys: --key says which one signs", len(all))
}
