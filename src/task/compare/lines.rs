//! Where two texts differ, in a few words that fit on a screen.

use crate::ui::sanitize;

/// So many lines are shown of each.
const MOST_LINES: usize = 3;
/// So much is shown of a line, and so much of what is the same before the difference.
const LONGEST: usize = 120;
const SAME: usize = 30;

/// What is said of a value that is not there.
pub(super) const NOTHING: &str = "nothing";

/// The first lines that differ, by their number in the first text; what follows them in both is left out.
pub(super) fn of_texts(before: &str, after: &str) -> (String, String) {
    let (one, two): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = one.iter().zip(&two).take_while(|(a, b)| a == b).count();
    let (one, two) = (&one[start..], &two[start..]);
    let end = one.iter().rev().zip(two.iter().rev()).take_while(|(a, b)| a == b).count();
    let (one, two) = (&one[..one.len() - end], &two[..two.len() - end]);
    if one.is_empty() && two.is_empty() {
        let words = if before.ends_with('\n') { ["a line break", "none"] } else { ["no line break", "one"] };
        return (format!("{} at the end", words[0]), words[1].to_owned());
    }
    let mut shown = [Vec::new(), Vec::new()];
    for number in 0..MOST_LINES {
        let (a, b) = (one.get(number), two.get(number));
        let (from_a, from_b) = windows(a.unwrap_or(&""), b.unwrap_or(&""));
        shown[0].extend(a.map(|_| format!("\"{from_a}\"")));
        shown[1].extend(b.map(|_| format!("\"{from_b}\"")));
    }
    let [one_shown, two_shown] = shown;
    let number = match one.len().min(MOST_LINES) {
        0 | 1 => format!("line {}", start + 1),
        count => format!("lines {}-{}", start + 1, start + count),
    };
    (format!("{number}: {}", listed(one_shown, one.len())), listed(two_shown, two.len()))
}

fn listed(shown: Vec<String>, all: usize) -> String {
    let more = all - shown.len();
    match (shown.is_empty(), more) {
        (true, _) => NOTHING.to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Two lines, or two values: their beginning, or what is around the first difference.
pub(super) fn windows(one: &str, two: &str) -> (String, String) {
    let same = one.chars().zip(two.chars()).take_while(|(a, b)| a == b).count();
    let from = if same > LONGEST / 2 { same - SAME } else { 0 };
    let window = |text: &str| {
        let mut rest = text.chars().skip(from);
        let part: String = rest.by_ref().take(LONGEST).collect();
        let (before, after) = (if from > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
        format!("{before}{}{after}", sanitize::text(&part))
    };
    (window(one), window(two))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(before: &str, after: &str) -> String {
        let (before, after) = of_texts(before, after);
        format!("{before} → {after}")
    }

    #[test]
    fn the_first_lines_that_differ_are_shown() {
        let cases = [
            ("a\nb\n2 passed\nc\n", "a\nb\n1 passed\nc\n", "line 3: \"2 passed\" → \"1 passed\""),
            ("a\nb\n", "a\nx\ny\nb\n", "line 2: nothing → \"x\", \"y\""),
            ("a\nx\ny\nb\n", "a\nb\n", "lines 2-3: \"x\", \"y\" → nothing"),
            (
                "a\nb\nc\nd\ne\n",
                "v\nw\nx\ny\nz\n",
                "lines 1-3: \"a\", \"b\", \"c\" and 2 more → \"v\", \"w\", \"x\" and 2 more",
            ),
            ("", "x\n", "line 1: nothing → \"x\""),
            ("x", "x\n", "no line break at the end → one"),
            ("x\n", "x", "a line break at the end → none"),
            ("\u{1b}[2Ja\n", "b\n", "line 1: \"\\u{1b}[2Ja\" → \"b\""),
        ];
        for (before, after, wanted) in cases {
            assert_eq!(said(before, after), wanted);
        }
    }

    #[test]
    fn long_lines_are_shown_where_they_differ() {
        let (one, two) = (format!("{}1{}", "x".repeat(500), "y".repeat(500)), format!("{}2", "x".repeat(500)));
        let same = "x".repeat(SAME);
        let rest = "y".repeat(LONGEST - SAME - 1);
        assert_eq!(said(&one, &two), format!("line 1: \"…{same}1{rest}…\" → \"…{same}2\""));
        let huge = said(&"é\n".repeat(100_000), &"ü".repeat(1_000_000));
        assert!(huge.chars().count() < 1000, "{huge}");
    }
}
