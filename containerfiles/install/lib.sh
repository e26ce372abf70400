# Sourced by the install scripts of cowbox's images, which run as root while an image is built.
# VERSION: empty, `3.12` (any 3.12.x), `>=3.8`, `>=3.8,<3.12`, several of them as `18|>=20`, or a word that the
# ecosystem knows (`nightly`).
# shellcheck shell=sh
set -eu
export DEBIAN_FRONTEND=noninteractive
VERSION=${VERSION-}
runtime=$(basename "$0")
borrowed=

say() { echo "cowbox: $*" >&2; }

# give_up WHY: one plain sentence, then the end of the build.
give_up() {
    say "$runtime${VERSION:+ $VERSION} cannot be had: $1"
    say "${VERSION:+change the version that the project asks for, or }name an image that has it with --image"
    exit 1
}

case $VERSION in
*[!0-9A-Za-z.,\<\>=+_\|-]*) give_up "this is not a version" ;;
esac

# within HAVE RANGE: whether that version is in one range.
within() {
    for part in $(echo "$2" | tr , ' '); do
        case $part in
        '>='*) dpkg --compare-versions "$1" ge "${part#>=}" || return 1 ;;
        '<'*) dpkg --compare-versions "$1" lt "${part#<}" || return 1 ;;
        [0-9]*) case $1. in "$part".*) ;; *) return 1 ;; esac ;;
        *) return 1 ;;
        esac
    done
}

# satisfies HAVE: whether that version is what VERSION asks for.
satisfies() {
    [ -n "$VERSION" ] || return 0
    for range in $(echo "$VERSION" | tr '|' ' '); do
        ! within "$1" "$range" || return 0
    done
    return 1
}

# settle: where the distribution has none that fits, only the last range counts, which is the newest.
settle() { VERSION=${VERSION##*|}; }

# lists: the package lists, once. Without --error-on a dead mirror counts as success.
lists() {
    [ -z "${listed-}" ] || return 0
    apt-get update -q --error-on=any || give_up "the distribution's package lists cannot be fetched"
    listed=yes
}

# packages NAME...: from the distribution. An image need not survive a power cut half-way, so nothing waits for the disk.
packages() {
    lists
    apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "$@" || give_up "the distribution's packages ($*) cannot be installed"
}

# borrow NAME...: the same, and gone again after tidy, unless they were there before.
borrow() {
    for name; do
        dpkg -s "$name" >/dev/null 2>&1 || borrowed="$borrowed $name"
    done
    packages "$@"
}

# distro META PATTERN: the distribution's package that satisfies VERSION, the one behind META before others,
# then the newest. Call lists first. Fails if there is none.
distro() {
    for name in $({ echo "$1"; apt-cache depends "$1" 2>/dev/null | sed -n 's/^.*Depends: //p'; apt-cache pkgnames | sort -rV; } | grep -Ex "$2"); do
        have=$(apt-cache policy "$name" | sed -n 's/^ *Candidate: //p')
        case $have in '' | '(none)') continue ;; esac
        # 1:3.2+93ubuntu2, 1.14.0.dfsg-2 and 8u402-ga-8 are 3.2, 1.14.0 and 8.402.
        have=$(echo "$have" | sed 's/^[0-9]*://; s/[-+~].*//; s/\.dfsg.*//; s/^8u/8./')
        if satisfies "$have"; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

# requirement NAME: with VERSION, as pip and uv write it. After settle.
requirement() {
    case $VERSION in
    '') echo "$1" ;;
    [0-9]*) echo "$1==$VERSION.*" ;;
    *) echo "$1$VERSION" ;;
    esac
}

# from_pypi REQUIREMENT DIR: installs a package of PyPI into a directory of its own.
from_pypi() {
    borrow python3-venv
    python3 -m venv "$2"
    "$2/bin/pip" install -q --no-cache-dir --disable-pip-version-check "$1"
}

# borrow_npm: has the command npm until tidy, run by the distribution's node. The distribution's own npm has hundreds
# of packages, which take most of a minute.
borrow_npm() {
    case $(/usr/bin/node -p 'process.versions.node.split(".")[0]') in
    [0-9] | 1[0-4]) npm=6.14.18 ;;
    *) npm=9.9.4 ;;
    esac
    mkdir -p /tmp/npm/bin
    curl -fsSL -o /tmp/npm/npm.tgz "https://registry.npmjs.org/npm/-/npm-$npm.tgz" || give_up "npm's registry cannot be reached"
    tar -xzf /tmp/npm/npm.tgz -C /tmp/npm
    printf '#!/bin/sh\nexec /usr/bin/node /tmp/npm/package/bin/npm-cli.js "$@"\n' >/tmp/npm/bin/npm
    chmod +x /tmp/npm/bin/npm
    PATH=/tmp/npm/bin:$PATH
}

# tidy: what no layer needs to carry. To be called last.
tidy() {
    # shellcheck disable=SC2086 # a list of names
    [ -z "$borrowed" ] || apt-get purge -y -q --auto-remove $borrowed
    apt-get clean
    rm -rf /var/lib/apt/lists/* /root/.cache /root/.npm /tmp/* /var/tmp/*
}
