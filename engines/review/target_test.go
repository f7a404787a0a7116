package review_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/review"
	"savant/fault"
)

// branch makes a branch with a commit of its own, and returns to main.
func (d *desk) branch(name string) string {
	d.t.Helper()
	d.git("checkout", "-q", "-b", name, "main")
	d.write("of.txt", name+"\n")
	commit := d.commit("on " + name)
	d.git("checkout", "-q", "main")
	return commit
}

// Names are git's to judge: whatever git allows in a name is found, alone and in a
// sentence, and never a shorter name within it.
func TestNamesAreGitsToJudge(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "1\n")
	main := d.commit("begin")
	for _, name := range []string{"release", "gr", "x", "a", "wip", "changes", "code", "my"} { // what a reading that stops early would find
		d.branch(name)
	}
	for _, name := range []string{"release+hotfix", "größe", "fix/#7-x", "a&b", "x,y", "feat=1", "50%", "wip(1)", "pr7", "#8", "v1.2_3", "ветка", "名前", "user@home", "a!b", "it's", "{a}", "<tag>", `"quoted"`, "(paren)", "$(x)", "🚀", "@next"} {
		commit := d.branch(name)
		for _, target := range []string{name, "branch " + name, "please review " + name, "review the changes of " + name, "Review “" + name + "”!", "review `" + name + "` please",
			"look at " + name + ", it is new.", "my changes in " + name, "main..." + name, "review main.." + name + " please", "the " + name + " branch", "review " + name + " against main"} {
			m := call[review.Manifest](d, "review.change", map[string]any{"target": target})
			require.Equal(t, [2]string{main, commit}, [2]string{m.Source.Base, m.Source.Head}, target)
			require.Contains(t, m.Title, name, target)
		}
	}
}

// A branch counts before a remote branch, that before a tag, and a tag before the number
// of a request.
func TestTheNearestNameCounts(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "1\n")
	main := d.commit("begin")
	one, two, three := d.branch("one"), d.branch("two"), d.branch("three")
	named := func(target string) string {
		t.Helper()
		return call[review.Manifest](d, "review.change", map[string]any{"target": target}).Source.Head
	}
	d.git("update-ref", "refs/pull/9/head", three)
	require.Equal(t, three, named("9"))
	require.Equal(t, three, named("please review pr9"))
	d.git("tag", "-a", "-m", "nine", "9", two)
	require.Equal(t, two, named("9"), "what a tag with a message leads to")
	require.Equal(t, three, named("#9"))
	d.git("update-ref", "refs/remotes/origin/9", one)
	require.Equal(t, one, named("9"))
	d.git("update-ref", "refs/remotes/origin/HEAD", one)
	require.Equal(t, two, named("HEAD...two"), "HEAD is here and not that of a remote")
	d.git("update-ref", "refs/remotes/upstream/9", two)
	d.refusedWith("review 9", "several fit: refs/remotes/origin/9, refs/remotes/upstream/9")
	require.Equal(t, two, named("upstream/9"))
	d.git("branch", "9", three)
	require.Equal(t, three, named("9"))

	d.git("update-ref", "refs/remotes/origin/trunk", main)
	m := call[review.Manifest](d, "review.change", map[string]any{"target": "trunk...one"})
	require.Equal(t, "origin/trunk...one", m.Title, "a base that only a remote has is named as such")
	require.Equal(t, main, m.Source.Base)
}

// refusedWith expects INVALID_PARAMS for a target.
func (d *desk) refusedWith(target, text string) {
	d.t.Helper()
	raw, err := json.Marshal(map[string]string{"target": target})
	require.NoError(d.t, err)
	_, err = d.tools.Invoke(d.t.Context(), engines.Call{}, "review.change", raw)
	require.ErrorIs(d.t, err, fault.InvalidParams, target)
	require.ErrorContains(d.t, err, text, target)
}

// What a sentence names is reviewed or an error, and never what happens to be checked out.
func TestWhatASentenceNames(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "1\n")
	main := d.commit("begin")
	feature, fix := d.branch("feature"), d.branch("fix/7")
	d.branch("changes")
	d.branch("depth")
	d.git("update-ref", "refs/pull/12/head", fix)
	d.write("b.txt", "open\n")
	d.git("add", "-N", "b.txt")

	for target, want := range map[string]string{
		"review feature": feature, "review feature please": feature, "Feature? No: feature.": feature,
		"review the last commit of feature": feature, "the last 1 commits of fix/7": fix,
		"please do an in-depth review of feature": feature, "review feature for off-by-one errors in branch feature": feature,
		"Please review the feature branch, thanks!": feature, "review the feature branch thoroughly today": feature, "My branch: feature": feature,
		"review 12": fix, "PR 12 please": fix, "pull request #12": fix, "review request 12 against main": fix, "review fix/7 part 2": fix,
		"review my changes": "", "Code review of my code": "", "Do a code review with emphasis on error-handling": "", "code review of feature": feature, "code review: fix/7": fix,
		"review my code in src/pay.go and the I/O": "", "these changes": "", "review this diff, e.g. the names": "", "look over the local changes before v2": "",
		"changes": d.git("rev-parse", "changes"), "review changes": "", "review the changes": "", "review": "", "this": "", "a review please": "", "do an in-depth review": "",
	} {
		m := call[review.Manifest](d, "review.change", map[string]any{"target": target})
		require.Equal(t, [2]string{main, want}, [2]string{m.Source.Base, m.Source.Head}, target)
	}
	for target, text := range map[string]string{
		"please review fix/#8-y":                 `commit of this repository, got "fix/#8-y"`,
		"code review of fix/#8-y":                `commit of this repository, got "fix/#8-y"`,
		"review the branch nowhere":              `commit of this repository, got "nowhere"`,
		"review nowhere-else on feature":         `commit of this repository, got "nowhere-else"`,
		"review branch nowhere of feature":       `commit of this repository, got "nowhere"`,
		`review "nowhere" and feature`:           `commit of this repository, got "nowhere"`,
		`review branch "changes of feature"`:     `commit of this repository, got "changes of feature"`,
		"review fix/8 and fix/9":                 "fix/8, fix/9",
		"review my changes of branch nowhere":    `commit of this repository, got "nowhere"`,
		"review feature and depth":               "several fit: feature, depth",
		"review #12 and #13":                     "several fit: request 12, request 13",
		"review main...feature and main...depth": "several fit",
		"feature...nowhere":                      `commit of this repository, got "nowhere"`,
		"review ../x":                            `got "/x"`,
	} {
		d.refusedWith(target, text)
	}
	m := call[review.Manifest](d, "review.change", map[string]any{"target": "review against feature"})
	require.Equal(t, [2]string{feature, main}, [2]string{m.Source.Base, m.Source.Head})
	require.Equal(t, "feature...HEAD", m.Title)
}

// Branches may be called like words of a sentence. "My changes" are the working tree
// then, and a plain word counts where nothing else names a target.
func TestBranchesCalledLikeWords(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "1\n")
	names := map[string]string{"": "", d.commit("begin"): "main"}
	for _, name := range []string{"the", "review", "my", "changes", "my-changes", "feature", "bugs", "request", "-x"} {
		if name[0] == '-' {
			d.git("update-ref", "refs/heads/-x", "main")
			continue
		}
		names[d.branch(name)] = name
	}
	d.git("tag", "feature", "bugs")
	d.git("update-ref", "refs/remotes/origin/only", "my")
	d.write("b.txt", "open\n")
	d.git("add", "-N", "b.txt")
	for target, want := range map[string]string{
		"review my changes": "", "please review my changes today": "", "review the security of my changes": "", "look for bugs in my code": "", "my changes": "",
		"review the changes": "", "review the": "", "review": "review", "the": "the", "changes": "changes", "my-changes": "my-changes", "review my-changes": "my-changes",
		"review branch the": "the", "the branch called the": "the", "the request branch": "request", "review the branch named changes.": "changes", "the changes of branch changes": "changes",
		"branch changes": "changes", "review the branch review": "review", "the review branch": "review",
		"my changes on feature": "feature", "my changes on Monday": "", "review feature": "feature", "the tag feature": "bugs", "review the feature tag please": "bugs",
		"feature vs bugs": "feature", "review only": "my", "review bugs": "bugs", "does feature break anything?": "feature", "origin/only": "my",
	} {
		m := call[review.Manifest](d, "review.change", map[string]any{"target": target})
		require.Equal(t, want, names[m.Source.Head], target)
	}
	d.refusedWith("-x", "expected the name of a commit")
	d.refusedWith("review -x", "expected the name of a commit")
	d.refusedWith("review feature and bugs", "several fit")
}

// Before the first commit what is there is reviewed; without any file that is said.
func TestBeforeTheFirstCommit(t *testing.T) {
	d := newDesk(t)
	d.refusedWith("", "nothing was committed yet")
	d.refusedWith("feature", "there is no commit yet")
	d.write("a.go", "package a\n")
	require.NoError(t, exec.CommandContext(t.Context(), "git", "-C", d.folder, "add", "a.go").Run())
	m := call[review.Manifest](d, "review.change", map[string]any{"target": "my changes"})
	require.Equal(t, "uncommitted changes", m.Title)
	require.Equal(t, 1, m.Lines.Reviewed)
}

// A clone that lacks the base is named as such, with the command that brings it.
func TestACloneThatLacksTheBase(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "1\n")
	d.commit("begin")
	d.branch("feature")
	d.git("clone", "-q", "--depth=1", "--branch=feature", "file://"+d.folder, "narrow")
	d.git("clone", "-q", "--depth=1", "--no-single-branch", "--branch=feature", "file://"+d.folder, "shallow")
	for target, says := range map[string]string{
		`{"repo":"narrow"}`:                               "git fetch --unshallow brings them; this clone has not all branches: git fetch origin NAME:NAME",
		`{"repo":"narrow","target":"main...HEAD"}`:        "this clone has not all branches",
		`{"repo":"shallow","target":"main...HEAD"}`:       "this is a shallow clone",
		`{"repo":"shallow"}`:                              "this is a shallow clone",
		`{"repo":"shallow","target":"x","base":"main~9"}`: "this is a shallow clone",
	} {
		_, err := d.tools.Invoke(t.Context(), engines.Call{}, "review.change", json.RawMessage(target))
		require.ErrorIs(t, err, fault.InvalidParams, target)
		require.ErrorContains(t, err, says, target)
	}
}
