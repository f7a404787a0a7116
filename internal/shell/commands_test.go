package shell_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/shell"
)

// forced matches a forced push.
var forced = regexp.MustCompile(`^git(-|(\s-\S+(\s[^-\s]\S*)??)*\s)push\s(.*\s)?(--force|-[a-zA-Z]*f|\+\S+)(\s|$)`)

func isForced(t *testing.T, value any) bool {
	found, err := shell.Of(value)
	require.NoError(t, err)
	for _, each := range found {
		if forced.MatchString(each.Text()) {
			return true
		}
	}
	return false
}

// TestAForcedPushIsSeen: in each spelling, and not where it is only spoken of. What docs/rules.md says
// is not seen is in unseen.txt.
func TestAForcedPushIsSeen(t *testing.T) {
	for name, want := range map[string]bool{"testdata/forced.txt": true, "testdata/plain.txt": false, "testdata/unseen.txt": false} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, each := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n---\n") {
			require.Equal(t, want, isForced(t, each), each)
		}
	}
}

// TestInputsOfTools: the members of an input that hold commands, in the forms of clients.
func TestInputsOfTools(t *testing.T) {
	type object = map[string]any
	type list = []any
	for _, each := range []any{
		object{"command": "git push -f"}, object{"command_line": "git push -f"}, object{"cmd": "git push -f"}, object{"script": "ls\ngit push -f"},
		object{"commands": list{"ls", "git push -f"}}, object{"command": list{"bash", "-lc", "git push -f"}}, object{"command": list{"git", "push", "-f"}},
		object{"command": "git", "args": list{"push", "--force"}}, object{"commands": list{object{"command": "git push -f"}}},
	} {
		require.True(t, isForced(t, each), each)
	}
	for _, each := range []any{object{"description": "git push -f"}, object{"content": "git push -f"}, nil, 1.5, object{"command": nil}, list{}, object{"args": list{"git", "push", "-f"}}} {
		require.False(t, isForced(t, each), each)
	}
}

func TestPartsOfACommand(t *testing.T) {
	found, err := shell.Of(`/bin/RM.exe -rf --depth=3 "a b" $HOME/x -- "$(date)"`)
	require.NoError(t, err)
	require.Equal(t, []shell.Command{{Name: "rm", Args: []string{"-rf", "--depth=3", "a b", "${HOME}/x", "--", "$()"}}}, found[:1])
	require.Equal(t, []string{"-r", "-f", "--depth", "--"}, found[0].Flags())
	require.Equal(t, "rm -rf --depth=3 a_b ${HOME}/x -- $()", found[0].Text())
}

// TestATextThatIsTooMuch is an error: nobody knows what is in it.
func TestATextThatIsTooMuch(t *testing.T) {
	for _, each := range []string{strings.Repeat("(", 5000), strings.Repeat("a", 200_000), strings.Repeat("a;", 50_000), strings.Repeat("eval \"", 20), "for i in {1..1000}; do for j in {1..1000}; do a; done; done",
		"for i in {1..900}; do for j in {1..900}; do for k in {1..900}; do x=1; done; done; done", strings.Repeat("bash -c ", 10_000),
		strings.Repeat("echo "+strings.Repeat("$(echo ", 190)+strings.Repeat(")", 190)+";", 80), strings.Repeat("(($a='"+strings.Repeat("$a", 20)+"';", 2000),
		"x=" + strings.Repeat("a", 1000) + "; echo ${x//a/${x//a/${x//a/$x}}}",
		"for i in {1..900}; do cat <<E >> f\n" + strings.Repeat("y", 100_000) + "\nE\ndone; sh f", "echo \"${x@Q$x}\""} {
		_, err := shell.Of(each)
		require.Error(t, err, each[:5])
	}
	for _, each := range []string{strings.Repeat("{a,b}", 12_000), "x=a;" + strings.Repeat("x=$x$x;", 200), "f() { f; f; }; f", "echo {1..1000000}",
		"python3 -c 'import subprocess\n" + strings.Repeat("for name in open(\"a.txt\"): print(\"%s is %d\" % (name, len(name.split(\",\"))))\n", 600) + "'", "node -e '" + strings.Repeat("x.push({a: 1, b: [2, 3]}); console.log(`${x}`);", 1000) + "'",
		"python3 <<E\nimport os\n" + strings.Repeat("print(f\"{a} of {b}: {c}\")\n", 2000) + "os.system(\"ls\")\nE",
		"cat > a <<E\n" + strings.Repeat("error at f( b\n", 1000) + "E", "npx x " + strings.Repeat("src/a.ts ", 3000), "x=$(printf '" + strings.Repeat("%1000000s", 1000) + "' a)"} {
		_, err := shell.Of(each)
		require.NoError(t, err, each[:5])
	}
}

// TestAnInputWithinItself is read in bounded steps.
func TestAnInputWithinItself(t *testing.T) {
	input := map[string]any{"command": "a", "args": []any{}}
	for range 60 {
		input = map[string]any{"command": input, "args": []any{"b"}}
	}
	_, err := shell.Of(input)
	require.Error(t, err)
}

// FuzzCommands: no text ends the program, or gives more than the limits allow.
func FuzzCommands(f *testing.F) {
	for _, text := range []string{"f() { g \"$@\"; }; f -x", "a=(b c); ${a[@]} {1..9}{1..9}", "cat <<E | sh\nx $(y)\nE", "x=$x$x; for i in $x; do eval $i; done", "alias a='b;c'; a", "$((1+2)) ${x:-y} ${!x} ${x/a/b} ~z", `& "C:\a.exe" b`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := shell.Of(text)
		require.True(t, err != nil || len(found) <= 4000, len(found))
	})
}

// TestWhatIsDeepIsSeenOrRefused: a command in texts within texts is never passed over, also
// where programs that start others stand around them.
func TestWhatIsDeepIsSeenOrRefused(t *testing.T) {
	for _, starts := range []string{"", "sudo ", "sudo nice "} {
		text := "git push --force"
		for level := range 20 {
			end := "E" + strconv.Itoa(level)
			text = "sh <<" + end + "\n" + text + "\n" + end
			if found, err := shell.Of(starts + text); err == nil {
				require.True(t, slices.ContainsFunc(found, func(each shell.Command) bool { return forced.MatchString(each.Text()) }), starts+text)
			}
		}
	}
}
