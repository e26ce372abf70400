//! Man pages, as `man` shows them.

use std::fs;
use std::process::Command;

use crate::common::Sandbox;

#[test]
fn every_page_is_written_and_rendered_without_a_warning() {
    let sandbox = Sandbox::bare();
    let dir = sandbox.root().join("pages");
    let _ = sandbox.cowbox(&["man", dir.to_str().unwrap()]).output().ok().says("pages written");
    let mut count = 0;
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let mut man = Command::new("man");
        man.args(["--warnings", "--local-file", "-E", "UTF-8"]).arg(&path);
        man.env("MANWIDTH", "80").env("MANPAGER", "cat").env("LC_ALL", "C.UTF-8").env("HOME", sandbox.root());
        let shown = man.output().unwrap();
        let (text, said) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
        assert!(shown.status.success() && said.is_empty(), "{}: {said}", path.display());
        for section in ["NAME", "EXAMPLES", "SEE ALSO"] {
            assert!(text.contains(section), "{} has no {section}", path.display());
        }
        count += 1;
    }
    assert!(count > 15, "{count}");
}
