//! What a service wants of its container: what is given, what needs consent, and what means nothing here.

use serde_json::{Map, Value};

use super::volumes::is_place;
use super::yaml::{is_true, text, texts};
use crate::setup::plan::{ContainerOptions, Ignored, MountKind, MountRequest, Refused};
use crate::ui::sanitize;

/// Read elsewhere.
const USED: &[&str] = &[
    "image",
    "build",
    "environment",
    "env_file",
    "user",
    "working_dir",
    "command",
    "entrypoint",
    "depends_on",
    "extends",
];
/// Given as they are.
const GIVEN: &[&str] = &["init", "shm_size", "ulimits", "hostname", "extra_hosts", "tmpfs", "cap_drop"];
/// Lists that widen what the sandbox may do, with the argument that does it.
const WIDEN: &[(&str, &str, &str)] = &[
    ("devices", "--device", "gives a device of the host"),
    ("device_cgroup_rules", "--device-cgroup-rule", "gives devices of the host"),
    ("ports", "--publish", "opens a port of the host"),
    ("group_add", "--group-add", "adds a group"),
    ("sysctls", "--sysctl", "changes the kernel's settings"),
];
/// Namespaces that are the host's when the value is `host`.
const SHARED: &[(&str, &str)] = &[("pid", "--pid"), ("ipc", "--ipc"), ("uts", "--uts"), ("cgroup", "--cgroupns")];
/// Why others are left out.
const REASONS: &[(&str, &[&str])] = &[
    (
        "the session has a network of its own: see `--network`",
        &[
            "network_mode",
            "networks",
            "links",
            "external_links",
            "dns",
            "dns_search",
            "dns_opt",
            "mac_address",
            "domainname",
            "expose",
        ],
    ),
    (
        "limits are the user's: see `--memory`, `--cpus` and `--pids`",
        &[
            "deploy",
            "mem_limit",
            "memswap_limit",
            "mem_reservation",
            "cpus",
            "cpu_shares",
            "cpu_quota",
            "cpuset",
            "pids_limit",
        ],
    ),
    ("secrets and configurations are not given: pass what is needed with `--env`", &["secrets", "configs"]),
    ("users are mapped by cowbox", &["userns_mode"]),
    ("the runtime is the user's: see `--runtime`", &["runtime"]),
    (
        "it means nothing for a sandbox",
        &[
            "annotations",
            "attach",
            "blkio_config",
            "container_name",
            "develop",
            "healthcheck",
            "labels",
            "label_file",
            "logging",
            "oom_kill_disable",
            "oom_score_adj",
            "platform",
            "profiles",
            "pull_policy",
            "restart",
            "scale",
            "stdin_open",
            "stop_grace_period",
            "stop_signal",
            "tty",
        ],
    ),
];

/// Decides about one service.
pub(super) struct Judge<'a> {
    /// The service's key: `services.app`.
    pub(super) prefix: String,
    /// Whether the user agreed to something.
    pub(super) allowed: &'a dyn Fn(&str) -> bool,
    /// It runs beside the sandbox: nothing is set up in it, and it can be asked how it is.
    pub(super) beside: bool,
    pub(super) options: ContainerOptions,
    pub(super) mounts: Vec<MountRequest>,
    pub(super) refused: Vec<Refused>,
    pub(super) ignored: Vec<Ignored>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(prefix: String, allowed: &'a dyn Fn(&str) -> bool) -> Self {
        let (options, mounts, refused, ignored) = Default::default();
        Self { prefix, allowed, beside: false, options, mounts, refused, ignored }
    }

    /// Looks at every key but `volumes`.
    pub(super) fn service(&mut self, service: &Map<String, Value>) {
        for (key, value) in service {
            let key = key.as_str();
            if USED.contains(&key) || key == "volumes" || key.starts_with("x-") || value.is_null() {
                continue;
            }
            if self.beside && key == "healthcheck" {
                continue;
            }
            if GIVEN.contains(&key) {
                self.give(key, value);
            } else if let Some((_, flag, why)) = WIDEN.iter().find(|(name, ..)| *name == key) {
                self.widen(key, flag, why, value);
            } else if let Some((_, flag)) = SHARED.iter().find(|(name, _)| *name == key) {
                self.share(key, flag, value);
            } else {
                self.rights(key, value);
            }
        }
    }

    /// Whether the user agreed; else it is refused.
    pub(super) fn asks(&mut self, key: &str, why: &str, what: &str) -> bool {
        // Not bound to a place in a list: that may change.
        let consent = format!("{}.{}: {what}", self.prefix, key.split('[').next().unwrap_or(key));
        let key = format!("{}.{key}", self.prefix);
        let shown = sanitize::text(what);
        if shown != what {
            self.ignored.push(Ignored { key, reason: "it has characters that cannot be shown".to_owned() });
            return false;
        }
        if (self.allowed)(&consent) {
            return true;
        }
        self.refused.push(Refused { key, reason: format!("`{what}` {why}"), consent });
        false
    }

    pub(super) fn leave(&mut self, key: &str, reason: &str) {
        let key = format!("{}.{}", self.prefix, sanitize::text(key));
        self.ignored.push(Ignored { key, reason: reason.to_owned() });
    }

    pub(super) fn mount_memory(&mut self, target: String) {
        self.mounts.push(MountRequest { target, what: MountKind::Tmpfs });
    }

    /// Stays inside of the sandbox, or makes it tighter.
    fn give(&mut self, key: &str, value: &Value) {
        let args: Vec<String> = match key {
            "init" => is_true(value).then(|| "--init".to_owned()).into_iter().collect(),
            "shm_size" => text(value).map(|size| format!("--shm-size={size}")).into_iter().collect(),
            "hostname" => text(value).map(|name| format!("--hostname={name}")).into_iter().collect(),
            "cap_drop" => texts(value).iter().map(|name| format!("--cap-drop={name}")).collect(),
            "ulimits" => {
                entries(value).filter_map(|(name, limit)| Some(format!("--ulimit={name}={}", ulimit(limit)?))).collect()
            }
            "extra_hosts" => {
                let addresses = |(name, list): (&String, &Value)| {
                    texts(list).into_iter().map(|address| format!("--add-host={name}:{address}")).collect::<Vec<_>>()
                };
                entries(value).flat_map(addresses).collect()
            }
            _ => {
                let target = |line: String| line.split(':').next().unwrap_or_default().to_owned();
                let targets = texts(value).into_iter().map(target).filter(|target| is_place(target));
                targets.for_each(|target| self.mount_memory(target));
                Vec::new()
            }
        };
        let (plain, odd): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| !arg.chars().any(char::is_control));
        self.options.run_args.extend(plain);
        if !odd.is_empty() {
            self.leave(key, "it has control characters in it");
        }
    }

    fn widen(&mut self, key: &str, flag: &str, why: &str, value: &Value) {
        let items: Vec<Option<String>> = match value {
            Value::Object(map) => map.iter().map(|(name, value)| Some(format!("{name}={}", text(value)?))).collect(),
            Value::Array(items) => items.iter().map(|item| text(item).or_else(|| long_form(key, item))).collect(),
            one => vec![text(one)],
        };
        for item in items {
            match item {
                Some(item) if self.asks(key, why, &item) => self.options.run_args.push(format!("{flag}={item}")),
                Some(_) => {}
                None => self.leave(key, "it has a form that is not known here"),
            }
        }
    }

    fn share(&mut self, key: &str, flag: &str, value: &Value) {
        if text(value).as_deref() != Some("host") {
            self.leave(key, "the session has namespaces of its own");
        } else if self.asks(key, "shares a namespace of the host", "host") {
            self.options.run_args.push(format!("{flag}=host"));
        }
    }

    fn rights(&mut self, key: &str, value: &Value) {
        match key {
            "privileged" if !is_true(value) => {}
            "privileged" => {
                self.options.privileged = self.asks(key, "gives all rights over the host's devices", "true")
            }
            "cap_add" => {
                for name in texts(value) {
                    let harmless = matches!(name.trim_start_matches("CAP_"), "SYS_PTRACE");
                    if harmless || self.asks(key, "is a right that a sandbox does not have", &name) {
                        self.options.cap_add.push(name);
                    }
                }
            }
            "security_opt" => {
                for option in texts(value) {
                    let option = if option.contains('=') { option } else { option.replacen(':', "=", 1) };
                    let tightens = matches!(option.as_str(), "no-new-privileges" | "no-new-privileges=true");
                    if tightens || self.asks(key, "changes how the sandbox is confined", &option) {
                        self.options.security_opt.push(option);
                    }
                }
            }
            "read_only" if self.beside => {
                self.options.run_args.extend(is_true(value).then(|| "--read-only".to_owned()));
            }
            "read_only" => self.leave(key, "setting up needs to write to the image"),
            _ => {
                let known = REASONS.iter().find(|(_, keys)| keys.contains(&key)).map(|(reason, _)| *reason);
                self.leave(key, known.unwrap_or("it is not supported"));
            }
        }
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn ulimit(limit: &Value) -> Option<String> {
    let (soft, hard) = (limit.get("soft").and_then(text), limit.get("hard").and_then(text));
    text(limit).or_else(|| Some(format!("{}:{}", soft?, hard?)))
}

/// Ports and devices as a map.
fn long_form(key: &str, item: &Value) -> Option<String> {
    let get = |name: &str| item.get(name).and_then(text);
    match key {
        "ports" => {
            let host = get("host_ip").map(|ip| format!("{ip}:")).unwrap_or_default();
            let published = get("published").map(|port| format!("{port}:")).unwrap_or_default();
            let protocol = get("protocol").map(|name| format!("/{name}")).unwrap_or_default();
            Some(format!("{host}{published}{}{protocol}", get("target")?))
        }
        "devices" => {
            let (source, target) = (get("source")?, get("target"));
            let rights = get("permissions").map(|rights| format!(":{rights}")).unwrap_or_default();
            Some(format!("{source}:{}{rights}", target.unwrap_or_else(|| source.clone())))
        }
        _ => None,
    }
}
