//! The page as a whole.

use std::path::Path;

use super::*;
use crate::changes::details;
use crate::diff::double::{Node, Tree, Trees};
use crate::git::commits::Commit;

const EVIL: &str = "<img src=x onerror=\"document.title='owned'\">'&\u{202e}\u{1b}[31m";

fn head() -> Head {
    Head {
        name: "api-7k3q".into(),
        repo: Path::new("/home/u").join(EVIL),
        engine: "native".into(),
        command: EVIL.into(),
        created: "2026-01-01T00:00:00.000Z".into(),
        digest: "sha256:0".into(),
    }
}

fn page(trees: &Trees, beside: Beside<'_>) -> String {
    let changes = trees.changes(&[]);
    let rows: Vec<(&Change, Details)> =
        changes.iter().map(|change| (change, details::of(change, trees).unwrap())).collect();
    let mut out = Vec::new();
    write(&head(), &rows, beside, trees, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn tree<const N: usize>(nodes: [(&str, Node); N]) -> Tree {
    nodes.into_iter().map(|(path, node)| (path.into(), node)).collect()
}

fn file(content: &str) -> Node {
    Node::File(0o644, content.into())
}

const NOTHING: Beside<'static> = Beside { left_out: LeftOut { ignored: 0, vcs: 0 }, commits: None, whole: &[] };

#[test]
fn nothing_of_the_session_becomes_markup() {
    let trees = Trees {
        old: tree([("both", file(&format!("{EVIL} 1 same same\n")))]),
        new: tree([
            ("both", file(&format!("{EVIL} 2 same same\n"))),
            ("</script><script>", file("</table></details><script>1</script>")),
            (EVIL, Node::Link(EVIL.into())),
            ("dir\u{202e}/<b>", file("")),
        ]),
    };
    let commit = Commit { id: EVIL.into(), subject: EVIL.into(), refname: EVIL.into(), repo: EVIL.into() };
    let commits = Commits { commits: vec![commit], truncated: true };
    let whole = [Risk { code: "mass-deletion", tier: Tier::Notice, reason: EVIL.into() }];
    let text = page(&trees, Beside { commits: Some(&commits), whole: &whole, ..NOTHING });
    assert_eq!(text.matches("<script>").count(), 1);
    assert_eq!(text.matches("</script>").count(), 1);
    assert!(!text.contains("<img") && !text.contains("<b>/") && !text.contains("onerror=\""));
    assert!(!text.contains(|c: char| c != '\n' && crate::ui::sanitize::is_dangerous(c)));
}

#[test]
fn the_policy_names_the_very_style_and_script() {
    use base64::Engine as _;
    use sha2::Digest;
    let text = page(&Trees::default(), NOTHING);
    for (tag, source) in [("style", "style-src"), ("script", "script-src")] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let inside = text.split_once(&open).unwrap().1.split_once(&close).unwrap().0;
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(inside));
        assert!(text.contains(&format!("{source} 'sha256-{hash}'")), "{tag}");
    }
    assert!(text.contains("default-src 'none'") && text.contains("Nothing to see"));
    assert!(!text.contains("http://") && !text.contains("https://"));
}

#[test]
fn flagged_changes_come_first_with_their_reason() {
    let trees =
        Trees { old: Tree::new(), new: tree([("a", file("x\n")), ("pipe.sh", Node::File(0o755, b"x".into()))]) };
    let text = page(&trees, NOTHING);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}"));
    let main = &text[at("<main")..];
    let (first, second) = (main.find("pipe.sh").unwrap(), main.find("<bdi>a</bdi>").unwrap());
    assert!(first < second && main.contains("Look at these first") && main.contains("<code>new-executable</code>"));
}

#[test]
fn folders_without_a_choice_share_a_line() {
    let new = tree([("a/b/c/one", file("")), ("a/b/c/two/x", file("")), ("a.c", file("")), ("z", file(""))]);
    let text = page(&Trees { old: Tree::new(), new }, NOTHING);
    let nav = text.split_once("<nav").unwrap().1.split_once("</nav>").unwrap().0;
    let folders: Vec<&str> =
        nav.split("<summary>").skip(1).filter_map(|rest| rest.split_once("</summary>")).map(|(name, _)| name).collect();
    assert_eq!(folders, ["<bdi>a/b/c</bdi>/", "<bdi>two</bdi>/"]);
    assert_eq!(nav.matches("<a href=\"#f").count(), 4);
    let open = text.matches("<details").count();
    assert_eq!(open, text.matches("</details>").count());
}
