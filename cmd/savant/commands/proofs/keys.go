package proofs

import (
	"fmt"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/proof/keys"
)

// KeyCommand is `savant key`.
func KeyCommand(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	one := func(use, short, long string, work func(keys.Ring, string) (keys.Key, error)) *cobra.Command {
		return p.JSONFlag(&cobra.Command{Use: use + " NAME", Short: short, Long: long, Args: cli.Positional(cobra.ExactArgs(1)),
			RunE: func(_ *cobra.Command, args []string) error {
				ring, err := p.openRing()
				if err != nil {
					return err
				}
				key, err := work(ring, args[0])
				if err != nil {
					return err
				}
				return p.printKey(key)
			}})
	}
	list := p.JSONFlag(&cobra.Command{Use: "list", Short: "List your keys", Args: cli.Positional(cobra.NoArgs), RunE: func(*cobra.Command, []string) error { return p.listKeys() }})
	return cli.Group("key", "Make, list and revoke the keys that sign proofs",
		one("new", "Make an Ed25519 key that signs proofs", "Make an Ed25519 key in your folder of configuration, outside of every project. Only you can read it (0600); it has no passphrase.\n"+
			"For a key with one, use ssh-keygen and an agent, and give savant proof --key FILE.pub.", keys.Ring.New),
		list,
		one("show", "Print the public part of a key", "Print the public part of a key, as a line for allowed_signers or for --key of savant verify.", keys.Ring.Show),
		one("revoke", "Take a key out of use", "Take a key out of use: savant verify on this machine refuses its signatures, and its private part is removed. Others learn of\n"+
			"it from you: take its line out of allowed_signers, or give them the file revoked_keys for ssh-keygen -Y verify -r.", keys.Ring.Revoke))
}

func (p *program) openRing() (keys.Ring, error) {
	project, err := app.AbsolutePath(p.Settings)
	if err != nil {
		return keys.Ring{}, err
	}
	return p.ring(project)
}

func (p *program) printKey(key keys.Key) error {
	if p.JSON {
		return p.Print(key)
	}
	state := ""
	if key.Revoked {
		state = " (revoked)"
	}
	_, err := fmt.Fprintf(p.Stdout, "%s%s\n%s\n", key.Fingerprint, state, key.Public)
	return err
}

func (p *program) listKeys() error {
	ring, err := p.openRing()
	if err != nil {
		return err
	}
	all, err := ring.List()
	if err != nil {
		return err
	}
	if p.JSON {
		return p.Print(map[string]any{"keys": all})
	}
	if len(all) == 0 {
		fmt.Fprintln(p.Stderr, "no keys: savant key new NAME makes one")
		return nil
	}
	return terminal.Table(p.Stdout, []string{"NAME", "FINGERPRINT", "STATE"}, all, func(each keys.Key) []string {
		state := "counts"
		if each.Revoked {
			state = "revoked"
		}
		return []string{each.Name, each.Fingerprint, state}
	})
}
