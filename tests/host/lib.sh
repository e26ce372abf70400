# Shared by the scripts in this directory; sourced, never run.
# shellcheck shell=bash
set -euo pipefail

host_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
test_user=cowbox-test
run_dir=/run/cowbox-test
ns_file=$run_dir/mnt
docker_sock=$run_dir/docker.sock
system_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# The system directories hold dockerd, runsc and debootstrap, which a plain user's PATH may lack.
export PATH="$PATH:$system_path"

say() { echo "tests/host: $*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }
exists_user() { id -u "$test_user" >/dev/null 2>&1; }

# crun refuses hybrid cgroups (v1 controllers plus cgroup2 at unified/).
needs_ns() { is_root && [ -d /sys/fs/cgroup/unified ] && [ "$(stat -fc %T /sys/fs/cgroup/unified)" = cgroup2fs ]; }

# A mount namespace without the cgroup2 mount, kept alive by a bind mount of its file, so that
# dockerd, rootful podman and rootless podman see each other's mounts.
ensure_ns() {
    needs_ns || return 0
    mkdir -p -m 0755 "$run_dir"
    exec 9>"$run_dir/lock"
    flock 9
    if [ "$(stat -fc %T "$ns_file" 2>/dev/null)" != nsfs ]; then
        # The kernel lets a namespace file live only on a private mount.
        mountpoint -q "$run_dir" || mount --bind "$run_dir" "$run_dir"
        mount --make-private "$run_dir"
        : >"$ns_file"
        # Slave first: the umount must not reach the machine. Shared then: podman wants that of /.
        unshare --mount="$ns_file" --propagation slave sh -c \
            'umount /sys/fs/cgroup/unified && mount --make-rshared /' 9>&-
    fi
    exec 9>&-
}
