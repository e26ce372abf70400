//! Certificates of the host: behind a company's proxy nothing can be fetched without them.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the host's bundle is shown inside.
pub const INSIDE: &str = "/.cowbox/ca.crt";

/// Variables that tools read the place of a bundle from.
pub const VARIABLES: [&str; 13] = [
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "BUNDLE_SSL_CA_CERT",
    "COMPOSER_CAFILE",
    "DENO_CERT",
    "HEX_CACERTS_PATH",
    "NIX_SSL_CERT_FILE",
    "npm_config_cafile",
];

/// Proxies, by both spellings that are in use.
pub const PROXIES: [&str; 8] =
    ["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "ftp_proxy", "no_proxy"];

/// The bundle of the host: what it trusts, its own additions included.
pub fn bundle() -> Option<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let usual = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
    let found = named.into_iter().chain(usual.map(PathBuf::from)).find(|path| path.is_file())?;
    found.canonicalize().ok()
}

/// Certificates that were added on this host, in PEM. Only these go into images, which would else be built again
/// with every update of the distribution's list.
pub fn additions() -> Vec<u8> {
    let dirs = ["/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors"];
    dirs.iter().flat_map(|dir| read_all(Path::new(dir))).collect()
}

fn read_all(dir: &Path) -> Vec<u8> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    let mut all = Vec::new();
    for content in files.iter().filter_map(|file| fs::read(file).ok()) {
        // A bundle must not join the end of one to the beginning of the next.
        if content.starts_with(b"-----BEGIN") && content.len() < 1 << 20 {
            all.extend_from_slice(content.trim_ascii_end());
            all.push(b'\n');
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificates_are_taken_and_each_ends_its_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("b.crt"), "-----BEGIN CERTIFICATE-----\nB\n-----END CERTIFICATE-----").unwrap();
        fs::write(dir.path().join("a.crt"), "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n\n").unwrap();
        fs::write(dir.path().join("README"), "no certificate").unwrap();
        let text = String::from_utf8(read_all(dir.path())).unwrap();
        assert_eq!(text.matches("-----END CERTIFICATE-----\n").count(), 2);
        assert!(text.find("\nA\n") < text.find("\nB\n") && !text.contains("no certificate"));
        assert!(read_all(Path::new("/no/such/place")).is_empty());
    }
}
