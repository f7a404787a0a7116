package adopt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArrowsInEverySpelling: the arrows are those that Mermaid 11 and Graphviz read in the
// same text, with their words. Each quote stands in the text as it is.
func TestArrowsInEverySpelling(t *testing.T) {
	for name, each := range map[string]struct{ text, arrows string }{
		"shapes.mmd": {"flowchart LR\n a[rect] --> b(round) --> c([stadium]) --> d[[sub]] --> e[(db)] --> f((circle)) --> g>flag]\n g --> h{rhombus} --> i{{hex}} --> j[/para/] --> k[\\alt\\] --> l[/trap\\] --> m[\\trap2/] --> n(((dbl)))",
			"a → b, b → c, c → d, d → e, e → f, f → g, g → h, h → i, i → j, j → k, k → l, l → m, m → n"},
		"words.mmd": {"graph TD\n A -->|yes| B\n A-->|\"no | never\"|C\n A -- text --> D\n A --text--> E\n A -- \"a --> b\" --> F\n A -. dotted .-> G\n A -.d2.-> H\n A ==thick==> I\n A -- a - b --> J\n A -->|ok: 1 > 0| K\n A ---|lab| L\n A -- lab --- M",
			"A → B: yes, A → C: no | never, A → D: text, A → E: text, A → F: a --> b, A → G: dotted, A → H: d2, A → I: thick, A → J: a - b, A → K: ok: 1 > 0, A → L: lab, A → M: lab"},
		"ends.mmd":    {"flowchart LR\n A --o B\n A --x C\n D <--> E\n F o--o G\n J ----> K\n L -...-> M\n N ====> O\n P ~~~ Q\n R <-->|both| S", "A → B, A → C, D → E, F → G, J → K, L → M, N → O, R → S: both"},
		"groups.mmd":  {"flowchart TB\n A & B -->|x| C & D\n C:::one & D:::two-.->E\n E -->\n F --> G;G-->H;", "A → C: x, A → D: x, B → C: x, B → D: x, C → E, D → E, E → F, F → G, G → H"},
		"newer.mmd":   {"flowchart-elk TD\n n1@{ shape: diamond, label: \"Decision {?}\" } --> n2@{ shape: rect }\n n2 e1@==>|x| step-1.a\n e1@{ animate: true }\n Ünï --> 日本", "n1 → n2, n2 → step-1.a: x, Ünï → 日本"},
		"quotes.mmd":  {"flowchart TD\n A[\"a #quot;q#quot; b\"] --> B[\"semi; colon\"]\n B -->|\"a; b\"| C[\"`**two**\n lines`\"]\n C --> D[\"(b) [c] {d}\"]", "A → B, B → C: a; b, C → D"},
		"aside.mmd":   {"---\ntitle: X --> Y\n---\n%%{init: {\n \"a\": \"b --> c\"}}%%\nflowchart TD\n %% note --> note\n accDescr {\n many --> lines\n }\n subgraph S1[\"Quoted [x]\"]\n direction LR\n A --> B\n end\n title --> B\n S1 --> D\n linkStyle 0 stroke:#ff3\n click A href \"u\"", "A → B, S1 → D, title → B"},
		"group.dot":   {"digraph { a -> { b { c -> d } } ; { rank=same; e; f } -> g; subgraph s {p q} -> r }", "a → b, a → c, a → d, c → d, e → g, f → g, p → r, q → r"},
		"commas.dot":  {"digraph { a -> {b, c}\n b -> d [label=\"x, y\", color=red] }", "a → b, a → c, b → d: x, y"},
		"strict.dot":  {"strict digraph { a -> b; a -> b [label=x]; b -> c }", "a → b: x, b → c"},
		"default.dot": {"digraph { edge [label=E]; a -> b; { edge [label=F] c -> d } b -> c [label=own]; node [label=N] }", "a → b: E, b → c: own, c → d: F"},
		"texts.dot":   {"digraph { \"lo\" + \"ng\" -> a:n [label=\"x\" + \"y\"]; a:s -> <h <b>t</b>> [label=<<i>yes</i>>]; \"q \\\"q\\\"\" -> \"\\\nc\" }", "a → h t: yes, long → a: xy, q \"q\" → c"},
	} {
		t.Run(name, func(t *testing.T) {
			draft := read(t, name, each.text)
			var arrows []string
			for _, unit := range draft.Units {
				if strings.Contains(unit.Text, " → ") {
					arrows = append(arrows, strings.Join(strings.Fields(unit.Text), " "))
				}
			}
			slices.Sort(arrows)
			require.Equal(t, each.arrows, strings.Join(arrows, ", "))
			for _, step := range draft.Steps {
				require.Contains(t, each.text, step.Quote)
			}
		})
	}
}
