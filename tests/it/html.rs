//! `diff --html` in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::host::git_init;
use crate::common::{Engine, Sandbox, on, on_every_engine};

on_every_engine!(the_page_shows_every_kind_of_change);
on!(native:
    a_browser_shows_the_page_and_runs_nothing_but_its_own_script,
    a_browser_would_say_so_if_the_policy_were_broken,
    without_script_the_page_says_the_same,
    the_page_is_written_whole_or_not_at_all,
    the_page_goes_to_stdout_and_only_one_view_is_written,
);

/// Markup, quotes, directions and bytes that are no text: in names, contents, links, and a commit.
const HOSTILE: &str = r#"
    m='<script>document.title="owned"</script><img src=x onerror="document.title=1">'
    printf '%s\n</td></table></details></main><script>document.title=2</script>\n' "$m" > "$(printf '<svg onload=document.title=3>\342\200\256.html')"
    printf '\342\200\256\342\200\213\033[31m\377\r\n' > "$(printf 'n\377\n"><script>document.title=4')"
    ln -s "javascript:document.title=5" '"><b id=owned>'
    printf '%s' "$m" >> README.md; mkdir -p 'a"b/<i>'; echo x > 'a"b/<i>/&amp;'
"#;

fn page(sandbox: &Sandbox) -> PathBuf {
    let file = sandbox.root().join("page.html");
    let output = sandbox.cowbox(&["diff", "--html", file.to_str().unwrap()]).output().ok();
    assert!(output.stdout().is_empty() && output.stderr().contains("open it in a browser"), "{}", output.stderr());
    file
}

/// What the browser made of a page, and what its console said.
fn browse(sandbox: &Sandbox, page: &Path) -> (String, String) {
    let profile = sandbox.root().join("browser");
    let mut browser = Command::new("chromium");
    // Its own sandbox wants namespaces that a test in a container may not have. It has no network either way.
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]);
    browser.args(["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"]);
    browser.arg(format!("--user-data-dir={}", profile.display())).arg(format!("file://{}", page.display()));
    browser.env("HOME", sandbox.root()).env("XDG_CONFIG_HOME", profile.join("config"));
    let output = browser.output().expect("chromium runs: tests/host/setup installs it");
    fs::remove_dir_all(profile).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let console = text(&output.stderr).lines().filter(|l| l.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
    (text(&output.stdout), console)
}

fn a_browser_shows_the_page_and_runs_nothing_but_its_own_script(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(HOSTILE).done();
    let (dom, console) = browse(&sandbox, &page(&sandbox));
    assert!(dom.contains(" · cowbox diff</title>"), "{dom}");
    assert_eq!(console, "", "the console is silent");
    assert_eq!(dom.matches("<script>").count(), 1);
    for foreign in ["<img", "<svg", "<b id"] {
        assert!(!dom.contains(foreign), "{foreign}");
    }
    // Its own script ran, and the page ends where it should.
    assert!(dom.contains("<p class=\"tools\"><label>"), "{dom}");
    assert_eq!(dom.matches("<details class=\"file\"").count(), 5);
    assert!(dom.contains("cowbox apply "));
}

fn a_browser_would_say_so_if_the_policy_were_broken(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > new").done();
    let file = page(&sandbox);
    let text = fs::read_to_string(&file).unwrap();
    let broken = text.replace("</main>", "</main><script>document.title = 'owned'</script><img src=\"/x.png\">");
    fs::write(&file, broken).unwrap();
    let (dom, console) = browse(&sandbox, &file);
    assert!(dom.contains(" · cowbox diff</title>") && console.contains("Content Security Policy"), "{console}");
}

fn without_script_the_page_says_the_same(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > new; echo more >> README.md").done();
    let file = page(&sandbox);
    // Another script than the policy names is refused, even if it differs by a blank.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"use strict\";", "\"use strict\" ;")).unwrap();
    let (dom, console) = browse(&sandbox, &file);
    assert!(console.contains("Content Security Policy"), "{console}");
    assert!(dom.contains("<p class=\"tools\" hidden=\"\">") && dom.contains("<td>more</td>"), "{dom}");
    assert_eq!(dom.matches("<details class=\"file\"").count(), 2);
}

fn the_page_shows_every_kind_of_change(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".gitignore", "*.bak\n");
    sandbox.write("old-name", "the same\n");
    sandbox.write("data", b"\0\0\0");
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    git_init(sandbox.repo());
    let script = "
        echo more >> README.md; printf 'no end' > new; rm src/main.c; mkfifo pipe; printf '\\0' > data
        mv old-name new-name; chmod 600 build.sh; rm link; echo x > link; ln -s /etc/passwd away; echo x > x.bak
        mkdir empty; echo x > .git/x
    ";
    sandbox.sh(script).done();
    let page = fs::read_to_string(page(&sandbox)).unwrap();
    for expected in [
        "<td>more</td>",
        "no end<i> no newline at the end</i>",
        "deleted file",
        "<code>special-file</code>",
        "binary or large, 3 B → 1 B",
        "renamed from old-name",
        "mode 0755 → 0600",
        "link became file",
        "<code>symlink-outside</code>",
        "1 ignored by git, not shown",
        "inside .git, never applied as files",
        "1 directories made",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    assert!(page.find("never applied</b>").unwrap() < page.find("<td>more</td>").unwrap());
}

fn the_page_is_written_whole_or_not_at_all(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > new").done();
    let missing = sandbox.root().join("missing/page.html");
    let _ =
        sandbox.cowbox(&["diff", "--html", missing.to_str().unwrap()]).output().code(1).says("cannot write the page");
    let file = page(&sandbox);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
    // Relative to where `-C` leads; the old page is replaced.
    fs::write(&file, "old").unwrap();
    let back = "../../page.html";
    sandbox.cowbox(&["diff", "-C", sandbox.repo().to_str().unwrap(), "--html", back]).output().done();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

fn the_page_goes_to_stdout_and_only_one_view_is_written(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > new; echo y > other").done();
    let output = sandbox.cowbox(&["diff", "--html", "-", "--", "new"]).output().ok();
    assert!(output.stdout().ends_with("</html>\n") && output.stderr().is_empty(), "{}", output.stderr());
    assert!(output.stdout().contains("<bdi>new</bdi>") && !output.stdout().contains("<bdi>other</bdi>"));
    for other in ["--stat", "--json", "-z", "--side-by-side"] {
        let _ = sandbox.cowbox(&["diff", "--html", "-", other]).output().code(2).says("cannot be used with");
    }
}
