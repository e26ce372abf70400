//! What surrounds the files: the head with its content policy, the summary, the foot.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::{Beside, Entry, Head, escape};
use crate::changes::risk::Tier;
use crate::git::commits::Commits;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Characters of the command that are shown.
const LONGEST: usize = 160;

/// How many characters of a commit's id are shown.
const SHORT: usize = 10;

/// Up to the title.
pub fn open(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    let name = escape::text(&head.name);
    let command = match head.command.char_indices().nth(LONGEST) {
        _ if head.command.is_empty() => "(shell)".to_owned(),
        Some((end, _)) => format!("{}…", &head.command[..end]),
        None => head.command.clone(),
    };
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{name} · cowbox diff</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#files\">Skip to the changes</a>\n<header>\n\
         <h1>{name}</h1>\n<p class=\"about\"><code>{command}</code> in <code>{repo}</code> on {engine}, {created}</p>\n",
        policy = policy(),
        command = escape::text(command),
        repo = escape::path(&head.repo),
        engine = escape::text(&head.engine),
        created = escape::text(&head.created),
    )
}

/// Nothing is loaded from anywhere; only this style and this script count.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    format!("default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'")
}

/// How much there is, and what is not shown. Ends the header.
pub fn summary(entries: &[Entry<'_>], beside: Beside<'_>, directories: usize, out: &mut dyn Write) -> io::Result<()> {
    let sum = |count: fn(&Entry<'_>) -> u64| entries.iter().map(count).sum::<u64>();
    let files = entries.len();
    write!(out, "<p class=\"sum\"><b>{files}</b> {} ", if files == 1 { "file" } else { "files" })?;
    counts(sum(|e| e.details.insertions), sum(|e| e.details.deletions), out)?;
    let tiers = [
        (Tier::Blocked, "never applied"),
        (Tier::Consent, "left out without your consent"),
        (Tier::Notice, "to look at"),
    ];
    for (tier, words) in tiers {
        let n = entries.iter().filter(|entry| entry.tier() == Some(tier)).count();
        if n > 0 {
            write!(out, " <span class=\"tag {}\">{n} {words}</span>", class(tier))?;
        }
    }
    out.write_all(b"</p>\n<ul class=\"notes\">\n")?;
    for risk in beside.whole {
        let reason = escape::text(&risk.reason);
        writeln!(out, "<li><span class=\"tag {}\">{}</span> {reason}</li>", class(risk.tier), risk.code)?;
    }
    let notes = [
        (beside.left_out.ignored, "ignored by git, not shown"),
        (beside.left_out.vcs, "inside .git, never applied as files"),
        (directories, "directories made, removed or with another mode"),
    ];
    for (n, words) in notes.iter().filter(|(n, _)| *n > 0) {
        writeln!(out, "<li>{n} {words}</li>")?;
    }
    out.write_all(b"</ul>\n")
}

/// The commits made inside, and the end of the header.
pub fn commits(found: Option<&Commits>, out: &mut dyn Write) -> io::Result<()> {
    match found {
        Some(Commits { commits, truncated }) if !commits.is_empty() || *truncated => {
            let more = if *truncated { ", and some that cannot be listed" } else { "" };
            let s = if commits.len() == 1 { "" } else { "s" };
            writeln!(
                out,
                "<details class=\"commits\"><summary>{} commit{s} made inside{more}</summary><ol>",
                commits.len()
            )?;
            for commit in commits {
                let id = escape::text(commit.id.get(..SHORT).unwrap_or(&commit.id));
                let place = match commit.repo.as_os_str().is_empty() {
                    true => String::new(),
                    false => format!(" in {}", escape::path(&commit.repo)),
                };
                writeln!(out, "<li><code>{id}</code> <bdi>{}</bdi>{place}</li>", escape::text(&commit.subject))?;
            }
            out.write_all(b"</ol></details>\n")?;
        }
        Some(_) => {}
        None => out.write_all(b"<p>The commits made inside cannot be listed.</p>\n")?,
    }
    // Shown by the script: without it they would do nothing.
    out.write_all(
        b"<p class=\"tools\" hidden><label>Filter <input type=\"search\" id=\"filter\" placeholder=\"part of a path\"></label> \
        <button type=\"button\" id=\"unfold\">Unfold all</button> <button type=\"button\" id=\"fold\">Fold all</button> \
        <span class=\"keys\"><kbd>j</kbd> <kbd>k</kbd> next and previous file, <kbd>o</kbd> fold, <kbd>/</kbd> filter</span></p>\n\
        </header>\n",
    )
}

/// The foot.
pub fn close(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    let name = escape::text(&head.name);
    write!(
        out,
        "<footer>\n<p>Apply with <code>cowbox apply {name}</code>, throw away with <code>cowbox discard {name}</code>.</p>\n\
         <p>Digest <code>{}</code></p>\n</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape::text(&head.digest)
    )
}

/// `+3 −1`, and nothing for a zero.
pub fn counts(insertions: u64, deletions: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut blank = "";
    for (n, class, sign) in [(insertions, "plus", '+'), (deletions, "minus", '−')] {
        if n > 0 {
            write!(out, "{blank}<span class=\"{class}\">{sign}{n}</span>")?;
            blank = " ";
        }
    }
    Ok(())
}

/// How a tier is coloured.
pub fn class(tier: Tier) -> &'static str {
    match tier {
        Tier::Blocked => "blocked",
        Tier::Consent => "consent",
        Tier::Notice => "notice",
    }
}
