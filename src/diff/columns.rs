//! The layout of `--stat`: how wide names and bars are, and what is cut. The rules are those of git.

use super::quote;
use crate::changes::Change;

/// Widths of name, number and bar, and what the longest bar stands for.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    name: usize,
    /// Width of the number.
    pub number: usize,
    graph: usize,
    most: u64,
}

impl Columns {
    /// Names get what they want while the bar keeps three eighths of `width`.
    pub fn of<'a>(rows: impl Iterator<Item = (&'a str, u64)>, any_binary: bool, width: usize) -> Self {
        let (longest, most) =
            rows.fold((0, 0), |(longest, most), (name, total)| (name.chars().count().max(longest), total.max(most)));
        // Numbers stand below "Bin".
        let number = most.to_string().len().max(if any_binary { 3 } else { 0 });
        let width = width.max(16 + 6 + number);
        let (mut name, mut graph) = (longest, usize::try_from(most).unwrap_or(usize::MAX / 2));
        if name + number + 6 + graph > width {
            graph = graph.min((width * 3 / 8).saturating_sub(number + 6).max(6));
            if name > width - number - 6 - graph {
                name = width - number - 6 - graph;
            } else {
                graph = width - number - 6 - name;
            }
        }
        Self { name, number, graph, most }
    }

    /// The name, cut at its front if it must be, and the blanks after it.
    pub fn fit(&self, name: &str) -> (String, usize) {
        let length = name.chars().count();
        if length <= self.name {
            return (name.to_owned(), self.name - length);
        }
        let room = self.name.saturating_sub(3);
        let end: String = name.chars().skip(length - room).collect();
        let end = end.find('/').map_or(end.as_str(), |slash| &end[slash..]);
        (format!("...{end}"), room - end.chars().count())
    }

    /// How many signs of each kind.
    pub fn bar(&self, plus: u64, minus: u64) -> (usize, usize) {
        if self.graph as u64 > self.most {
            return (plus as usize, minus as usize);
        }
        let scaled = |n: u64| match n {
            0 => 0,
            n => 1 + (u128::from(n) * (self.graph as u128 - 1) / u128::from(self.most)) as usize,
        };
        let total = scaled(plus + minus).max(if plus > 0 && minus > 0 { 2 } else { 0 });
        if plus < minus { (scaled(plus), total - scaled(plus)) } else { (total - scaled(minus), scaled(minus)) }
    }
}

/// The name of a change; of a rename both, with the directories that they share written once.
pub fn name(change: &Change) -> String {
    let new = quote::path(&change.path);
    let Some(from) = &change.from else { return new };
    let old = quote::path(from);
    if old.starts_with('"') || new.starts_with('"') {
        return format!("{old} => {new}");
    }
    // Cuts lie at slashes only, so no character is ever cut.
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let head = old.as_bytes()[..same].iter().rposition(|b| *b == b'/').map_or(0, |slash| slash + 1);
    let from_slash = |text: &'_ str| text.as_bytes()[head.saturating_sub(1)..].to_vec();
    let (a, b) = (from_slash(&old), from_slash(&new));
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = a[a.len() - same..].iter().position(|b| *b == b'/').map_or(0, |slash| same - slash);
    if head + tail == 0 {
        return format!("{old} => {new}");
    }
    let middle = |text: &str| text.get(head..text.len() - tail).unwrap_or_default().to_owned();
    format!("{}{{{} => {}}}{}", &old[..head], middle(&old), middle(&new), &old[old.len() - tail..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::renamed;

    #[test]
    fn renames_share_their_directories() {
        let shown = |old, new| name(&renamed(old, new));
        assert_eq!(shown("a", "b"), "a => b");
        assert_eq!(shown("src/a.rs", "src/b.rs"), "src/{a.rs => b.rs}");
        assert_eq!(shown("old/x/f", "new/x/f"), "{old => new}/x/f");
        assert_eq!(shown("a/b/c", "a/c"), "a/{b => }/c");
        assert_eq!(shown("a/c", "a/b/c"), "a/{ => b}/c");
        assert_eq!(shown("dé/x", "dè/x"), "{dé => dè}/x");
        assert_eq!(shown("a\n", "b"), r#""a\n" => b"#);
    }

    #[test]
    fn long_names_lose_their_front_and_bars_are_scaled() {
        let long = format!("{}/file.rs", "directory/".repeat(10));
        let columns = Columns::of([(long.as_str(), 1000), ("short", 3)].into_iter(), false, 80);
        let (fitted, padding) = columns.fit(&long);
        assert!(fitted.starts_with(".../") && fitted.ends_with("/file.rs"), "{fitted}");
        let (plus, minus) = columns.bar(900, 100);
        assert!(fitted.chars().count() + padding + 7 + plus + minus <= 80);
        assert_eq!(columns.bar(0, 1), (0, 1));
        assert_eq!(columns.bar(1, 1), (1, 1));
    }
}
