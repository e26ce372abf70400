//! What a command has no business reading: hidden in the home of a native sandbox.

use std::path::PathBuf;

/// Relative to the home directory, or absolute.
const DEFAULT: &[&str] = &[
    // keys and tokens
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/sops",
    ".config/rclone",
    ".config/git/credentials",
    ".config/containers/auth.json",
    ".docker/config.json",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".gem/credentials",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".pypirc",
    ".npmrc",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".oci",
    ".doctl",
    ".s3cfg",
    ".boto",
    // browsers and mail
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".var/app",
    "snap/firefox",
    "snap/chromium",
    // histories
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".lesshst",
    ".viminfo",
    ".local/share/recently-used.xbel",
    // of the system, which only root could read
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/krb5.keytab",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/containerd",
    "/var/lib/sss",
    "/var/spool/cron",
    "/var/backups",
    "/etc/security/opasswd",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/letsencrypt",
    "/etc/openvpn",
    "/var/lib/systemd/credential.secret",
    "/root/.ssh",
    "/boot",
];

/// The list that is used unless the configuration has its own.
pub fn default_list() -> Vec<PathBuf> {
    DEFAULT.iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_lists_what_is_hidden() {
        let document = include_str!("../../../docs/configuration.md");
        let section = document.split("## What native hides").nth(1).unwrap();
        let rows = section.lines().filter(|line| line.starts_with('|') && !line.contains("always"));
        let listed: Vec<&str> = rows.flat_map(|row| row.split('`').skip(1).step_by(2)).collect();
        assert_eq!(listed, DEFAULT);
    }
}
