#!/bin/sh
# Checks that a proof covers a commit: action.yml gives it its variables. What a shallow
# clone lacks is fetched.
set -eu
set -f # no word is a pattern
BASE=${BASE:-}
if [ -n "$BASE" ] && ! git rev-parse --quiet --verify "$BASE^{commit}" >/dev/null; then
  git fetch --quiet --depth=1 origin "+refs/heads/${BASE#origin/}:refs/remotes/$BASE" || true
fi
if [ -z "${PROOFS:-}" ]; then git fetch --quiet origin '+refs/notes/savant:refs/notes/savant' 2>/dev/null || true; fi
exec savant proof check --commit "$COMMIT" --allowed-signers "$ALLOWED_SIGNERS" --format "${FORMAT:-text}" --workflow "${WORKFLOW:-}" \
  --base "$BASE" --require "$(echo ${REQUIRE:-} | tr ' ' ,)" -- ${PROOFS:-}
