#!/usr/bin/env bash
# Sees to it that the browser tests have a Chromium. Says nothing when they do; otherwise prints why
# not, in half a sentence for `make test` to end with. It never fails: those tests are then skipped.
set -uo pipefail

found() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
missing() { echo "there is no Chromium here and $1"; exit 0; }

found && exit
command -v apt-get >/dev/null || missing "it may not be installed (this system has no apt-get)"
if [ "$(id -u)" = 0 ]; then as_root=(env)
elif sudo -n true 2>/dev/null; then as_root=(sudo -n env)
else missing "it may not be installed (that needs root, or sudo without a password)"
fi

log=build/chromium.log
mkdir -p build
echo "Installing Chromium with apt-get for the browser tests (about a minute) ..." >&2
apt() { "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@"; }
# libatomic1 is for Playwright's driver, which brings everything else with it.
{ apt update; apt install --no-install-recommends chromium libatomic1; } >"$log" 2>&1 </dev/null
found || missing "apt-get could not install it (see $log)"
