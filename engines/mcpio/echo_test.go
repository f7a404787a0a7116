package mcpio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// However long a name is that nobody has, its error repeats 200 bytes of it at
// most.
func TestErrorsRepeatLittleOfWhatWasSent(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	modern := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-` + long + `"}`
	w := dial(t, exhibition(t))
	for _, line := range []string{
		callLine(1, long, `{}`),
		callLine(1, "test."+long, `{}`),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, long),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":%q}}`, long),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test.echo",%s}}`, modern),
	} {
		w.send(line)
		reply := w.next()
		require.LessOrEqual(t, longestRun(reply), 200, reply[:min(len(reply), 500)])
		require.Less(t, len(reply), 2000)
	}
}

// longestRun is the length of the longest run of x.
func longestRun(text string) int {
	longest := 0
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != 'x' }) {
		longest = max(longest, len(part))
	}
	return longest
}
