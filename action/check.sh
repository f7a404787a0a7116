#!/bin/sh
# Checks that a proof covers a commit: action.yml and gitlab.yml give it its variables.
set -eu
set -f # no word is a pattern
proofs=${PROOFS:-} required=${REQUIRE:-}
set -- --commit "$COMMIT" --allowed-signers "$ALLOWED_SIGNERS" --format "${FORMAT:-text}"
[ -z "${WORKFLOW:-}" ] || set -- "$@" --workflow "$WORKFLOW"
[ -z "${BASE:-}" ] || set -- "$@" --base "$BASE"
for each in $required; do set -- "$@" --require "$each"; done
if [ -z "$proofs" ]; then git fetch --quiet origin '+refs/notes/savant:refs/notes/savant' 2>/dev/null || true; fi
exec savant proof check "$@" -- $proofs
