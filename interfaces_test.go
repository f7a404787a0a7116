package savant_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/engines"
	"savant/reasoning"
	"savant/think/state"
	"savant/think/state/mongostate"
)

// What savant.go names is implemented by what it says.
var (
	_ savant.Journal     = (*state.Dir)(nil)
	_ savant.Artifacts   = (*state.Dir)(nil)
	_ savant.Receipts    = (*state.Dir)(nil)
	_ savant.Maintenance = (*state.Dir)(nil)
	_ savant.Journal     = (*mongostate.Store)(nil)
	_ savant.Artifacts   = (*mongostate.Store)(nil)
	_ savant.Receipts    = (*mongostate.Store)(nil)
	_ savant.Maintenance = (*mongostate.Store)(nil)
	_ savant.Person      = engines.PersonFunc(nil)
	_ savant.Decider     = (*reasoning.Client)(nil)
)

// maxMethods is how many methods an interface has that a run needs.
const maxMethods = 10

// TestTheInterfacesAreSmall: a store or a decider can be written in a day. Tools and
// Maintenance are implemented once.
func TestTheInterfacesAreSmall(t *testing.T) {
	for _, each := range []reflect.Type{reflect.TypeFor[savant.Journal](), reflect.TypeFor[savant.Artifacts](), reflect.TypeFor[savant.Receipts](),
		reflect.TypeFor[savant.Person](), reflect.TypeFor[savant.Decider]()} {
		require.LessOrEqual(t, each.NumMethod(), maxMethods, each.String())
	}
}

// TestTheCodesOfTheInterfacesExist checks the codes that savant.go names.
func TestTheCodesOfTheInterfacesExist(t *testing.T) {
	text, err := os.ReadFile("savant.go")
	require.NoError(t, err)
	codes, err := os.ReadFile("fault/fault.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`\b[A-Z]+_[A-Z_]+\b`).FindAllString(string(text), -1)
	require.NotEmpty(t, found)
	for _, code := range found {
		require.True(t, code == "SAVANT_PATH" || strings.Contains(string(codes), `"`+code+`"`), code)
	}
}
