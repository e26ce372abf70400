//! Which capabilities a container has.

use crate::engine::Kind;
use crate::policy::CONTAINER_CAPABILITIES;
use crate::setup::plan::ContainerOptions;

/// All capabilities of Linux. Podman drops by name: it gives every added one to a command that is not root, as an
/// effective one.
const ALL_CAPABILITIES: [&str; 41] = [
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
];

/// The arguments of `run`: few, those that are asked for, and no other.
pub fn arguments(kind: Kind, options: &ContainerOptions) -> Vec<String> {
    let added = added(options);
    let mut words: Vec<String> = added.iter().map(|name| format!("--cap-add={name}")).collect();
    let all = options.privileged || added.iter().any(|name| name == "ALL");
    if kind == Kind::Docker {
        words.extend((!all).then(|| "--cap-drop=ALL".to_owned()));
        words.extend(CONTAINER_CAPABILITIES.iter().map(|name| format!("--cap-add={name}")));
    } else if !all {
        let kept = |name: &&str| CONTAINER_CAPABILITIES.contains(name) || added.iter().any(|own| own == name);
        let dropped: Vec<&str> = ALL_CAPABILITIES.into_iter().filter(|name| !kept(name)).collect();
        words.push(format!("--cap-drop={}", dropped.join(",")));
    }
    words
}

/// Those beyond what every container has, spelled in one way.
fn added(options: &ContainerOptions) -> Vec<String> {
    let spelled = |name: &String| name.to_ascii_uppercase().trim_start_matches("CAP_").to_owned();
    let mut all: Vec<String> = options.cap_add.iter().map(spelled).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_comes_on_top_of_the_few() {
        let options =
            ContainerOptions { cap_add: vec!["cap_sys_ptrace".into(), "SYS_PTRACE".into()], ..Default::default() };
        let podman = arguments(Kind::Podman, &options);
        assert_eq!(podman[0], "--cap-add=SYS_PTRACE");
        assert!(podman[1].contains("SYS_ADMIN") && !podman[1].contains("CHOWN") && !podman[1].contains("SYS_PTRACE"));
        let docker = arguments(Kind::Docker, &options);
        assert_eq!(docker[..3], ["--cap-add=SYS_PTRACE", "--cap-drop=ALL", "--cap-add=CHOWN"]);
        let all = ContainerOptions { privileged: true, ..Default::default() };
        assert!(arguments(Kind::Podman, &all).is_empty());
    }
}
