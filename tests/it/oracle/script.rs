//! Random scripts of file operations.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A small generator: the same seed gives the same script on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// Lines of a shell, as bytes.
pub struct Script(Vec<u8>);

const NAMES: [&[u8]; 14] = [
    b"a",
    b"b",
    b"c",
    b"lib.rs",
    b"sp ace",
    "\u{fc}ml".as_bytes(),
    b"-dash",
    b"new\nline",
    b"q'uote",
    b"\xff\xfe",
    b".wh.a",
    b".hidden",
    b"x\\y",
    b"*",
];
const DIRS: [&[u8]; 5] = [b"d1", b"d 2", b"d3", b"d\xfe", b".wh..wh..opq"];

impl Script {
    /// What the repo has at first.
    pub fn base(random: &mut Random, native: bool) -> Self {
        let mut script = Self(Vec::new());
        for _ in 0..10 + random.below(10) {
            script.create(random);
        }
        if native && random.below(4) == 0 {
            script
                .line(b"git init -q . && printf 'ignored*\\n*.o\\n' > .gitignore && git add -A && git commit -qm base");
        }
        script
    }

    /// What the command does. `closed`: it makes things that their owner may not read or write; root in a container may.
    pub fn session(random: &mut Random, native: bool, closed: bool) -> Self {
        let mut script = Self(Vec::new());
        // A directory that is renamed is copied by `mv` in an overlay, which takes links apart.
        let links = random.below(2) == 0;
        for _ in 0..3 + random.below(22) {
            script.step(random, native, links, closed);
        }
        script
    }

    fn line(&mut self, text: &[u8]) {
        self.0.extend_from_slice(b"{ ");
        self.0.extend_from_slice(text);
        self.0.extend_from_slice(b"; } >/dev/null 2>&1 || :\n");
    }

    fn path(&mut self, random: &mut Random) -> Vec<u8> {
        let mut path = b"./".to_vec();
        for _ in 0..random.below(3) {
            path.extend_from_slice(random.pick(&DIRS));
            path.push(b'/');
        }
        path.extend_from_slice(random.pick(&NAMES));
        quoted(&path)
    }

    fn dir(&mut self, random: &mut Random) -> Vec<u8> {
        let mut path = b"./".to_vec();
        for depth in 0..1 + random.below(3) {
            if depth > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(random.pick(&DIRS));
        }
        quoted(&path)
    }

    fn create(&mut self, random: &mut Random) {
        let (dir, path) = (self.dir(random), self.path(random));
        self.line(&[b"mkdir -p ", &dir[..]].concat());
        self.line(&[format!("printf '%s\\n' {}", text(random)).as_bytes(), b" > ", &path].concat());
    }

    fn step(&mut self, random: &mut Random, native: bool, links: bool, closed: bool) {
        let (path, other, dir, second) = (self.path(random), self.path(random), self.dir(random), self.dir(random));
        let words = text(random);
        let join = |parts: &[&[u8]]| parts.concat();
        let mode = random.pick(if closed {
            &["644", "600", "755", "000", "444", "640"][..]
        } else {
            &["644", "600", "755", "640"]
        });
        let dir_mode = random.pick(if closed { &["755", "700", "555", "711"][..] } else { &["755", "700", "711"] });
        let line = match random.below(if native { 30 } else { 26 }) {
            0..=3 => join(&[b"printf '%s\\n' ", words.as_bytes(), b" > ", &path]),
            4 | 5 => join(&[b"printf '%s\\n' ", words.as_bytes(), b" >> ", &path]),
            6 => join(&[b"truncate -s ", random.below(70000).to_string().as_bytes(), b" ", &path]),
            7 => join(&[b"chmod ", mode.as_bytes(), b" ", &path]),
            8 => join(&[b"chmod ", dir_mode.as_bytes(), b" ", &dir]),
            9 | 10 => join(&[b"mv -T ", &path, b" ", &other]),
            11 if !links => join(&[b"mv -T ", &dir, b" ", &second]),
            11 | 12 if links => join(&[b"ln ", &path, b" ", &other]),
            13 => join(&[b"ln -s ", &path[..path.len().min(40)].replace_quotes(), b" ", &other]),
            14 | 15 => join(&[b"rm -f ", &path]),
            16 => join(&[b"rm -rf ", &dir]),
            17 => join(&[b"rmdir ", &dir]),
            // A name that nothing else opens: a reader or writer would wait for ever.
            18 => join(&[b"mkfifo ", &dir, b"/pipe"]),
            19 => join(&[b"rm -f ", &path, b" && mkdir -p ", &path]),
            20 => join(&[b"rm -rf ", &dir, b" && printf x > ", &dir]),
            21 => join(&[b"mkdir -p ", &dir]),
            22 => join(&[b"rm -rf ", &dir, b" && mkdir -p ", &dir]),
            23 => join(&[b"cp -p ", &path, b" ", &other]),
            24 => join(&[b"true >> ", &path]),
            25 => join(&[b"rm -rf ", &dir, b" && ln -s a ", &dir]),
            26 | 27 => join(&[
                b"setfattr -n user.",
                random.pick(&["one", "two"]).as_bytes(),
                b" -v ",
                words.as_bytes(),
                b" ",
                &path,
            ]),
            28 => b"git add -A && git commit -qm work".to_vec(),
            // Removed first: else git writes a file anew, or not, by the times that it sees.
            29 => b"git ls-files -z | xargs -0 rm -f -- && git checkout -q -- .".to_vec(),
            _ => join(&[b"printf x > ", &path]),
        };
        self.line(&line);
    }

    /// Runs it on the host.
    pub fn run_in(&self, dir: &Path) {
        let script = dir.with_extension("sh");
        self.write(&script);
        // Root in a sandbox has no capabilities: nor has it here.
        let root = rustix::process::geteuid().is_root();
        let mut command = Command::new(if root { "setpriv" } else { "sh" });
        if root {
            command.args(["--bounding-set=-all", "--inh-caps=-all", "sh"]);
        }
        command.arg(&script).current_dir(dir).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let ran = command.status().unwrap();
        assert!(ran.success());
        fs::remove_file(script).unwrap();
    }

    /// With what makes it the same everywhere.
    pub fn write(&self, path: &Path) {
        let start = "umask 022; export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
                     GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='1700000000 +0000' \
                     GIT_COMMITTER_DATE='1700000000 +0000' HOME=/nonexistent LC_ALL=C\n";
        fs::write(path, [start.as_bytes(), &self.0, b"exit 0\n"].concat()).unwrap();
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.escape_ascii().to_string().replace("\\n}", "\n}").replace(":\\n", ":\n"))
    }
}

fn text(random: &mut Random) -> String {
    let words = ["one", "two", "three", "four"];
    let count = 1 + random.below(3);
    (0..count).map(|_| random.pick(&words).to_owned()).collect::<Vec<_>>().join(" ")
}

fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
    out
}

trait ReplaceQuotes {
    fn replace_quotes(&self) -> Vec<u8>;
}

impl ReplaceQuotes for [u8] {
    /// The target of a link: any word that stays inside of the repo.
    fn replace_quotes(&self) -> Vec<u8> {
        let plain: Vec<u8> = self.iter().copied().filter(|b| !matches!(b, b'\'' | b'\\')).collect();
        quoted(&plain)
    }
}
