//! Holes stay holes, what is nothing costs nothing, and times are carried over.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use crate::common::{Engine, Fingerprint, Sandbox, on, on_every_engine};
use crate::landing::{Twin, apply, is_back, nothing_is_left, undo};

on_every_engine!(a_terabyte_of_nothing_costs_nothing, holes_stay_holes);
on!(native: times_are_carried_over_to_the_nanosecond, a_renamed_terabyte_costs_nothing);

fn a_terabyte_of_nothing_costs_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let before = Fingerprint::of(sandbox.repo());
    sandbox.sh("echo begin > huge; truncate -s 1099511627776 huge; echo end >> huge; : > empty; truncate -s 1099511627776 empty").done();
    let start = Instant::now();
    sandbox.cowbox(&["diff", "--json"]).output().done();
    apply(&sandbox, &[]).done();
    nothing_is_left(&sandbox);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    for (name, size) in [("huge", (1u64 << 40) + 4), ("empty", 1 << 40)] {
        let meta = fs::metadata(sandbox.repo().join(name)).unwrap();
        assert_eq!(meta.len(), size, "{name}");
        assert!(meta.blocks() < 1000, "{name} has {} blocks", meta.blocks());
    }
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn holes_stay_holes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Data, a hole, data, a hole at the end; and one that was edited in place.
    let script = "dd if=/dev/urandom of=new bs=64k count=1 2>/dev/null; dd if=new of=new bs=64k seek=100 count=1 conv=notrunc 2>/dev/null
        truncate -s 20M new; cp new copy; echo x >> copy; sha256sum new copy";
    let sums = sandbox.sh(script).ok().stdout();
    apply(&sandbox, &[]).done();
    assert_eq!(crate::host::sh(&format!("cd {} && sha256sum new copy", sandbox.repo().display())), sums);
    let meta = fs::metadata(sandbox.repo().join("new")).unwrap();
    assert_eq!(meta.len(), 20 << 20);
    assert!(meta.blocks() * 512 <= 1 << 20, "{} blocks", meta.blocks());
    nothing_is_left(&sandbox);
}

/// Renames are found by content: that of nothing is not read.
fn a_renamed_terabyte_costs_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.change_repo(|repo| {
        let file = fs::File::create(repo.join("huge")).unwrap();
        file.set_len(1 << 40).unwrap();
    });
    let start = Instant::now();
    sandbox.sh("truncate -s 1T moved; rm huge").done();
    assert_eq!(sandbox.changes(), ["R  huge -> moved"]);
    apply(&sandbox, &[]).done();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    nothing_is_left(&sandbox);
}

fn times_are_carried_over_to_the_nanosecond(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "echo x > new; echo more >> README.md; mkdir -p d/e; echo y > d/e/f; ln -s f d/l; ln -sfn src link
        for p in new README.md d/e/f d/l d/e d link; do touch -h -d '2001-02-03 04:05:06.789012345 UTC' $p; done
        touch -d '1960-01-01 00:00:00.5 UTC' new";
    let twin = Twin::run(&sandbox, &[], script);
    apply(&sandbox, &[]).done();
    let ours = ["new", "README.md", "d", "link"];
    twin.landed(&sandbox, |path| ours.iter().any(|p| path.starts_with(p)));
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}
