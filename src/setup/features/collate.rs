//! Comparing text as the reference does: by the order of a dictionary, not by code.

use std::cmp::Ordering;

/// The printable characters of ASCII that are no letters, in the order of the Unicode root collation.
const MARKS: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

/// Letters without regard to case first; where all is the same, lower case before upper case.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let weights = a.chars().map(weight).cmp(b.chars().map(weight));
    // The last step makes it a total order, for characters that this table does not know.
    weights
        .then_with(|| a.chars().map(char::is_uppercase).cmp(b.chars().map(char::is_uppercase)))
        .then_with(|| a.cmp(b))
}

fn weight(c: char) -> (u8, u32) {
    match MARKS.find(c) {
        Some(at) => (1, at as u32),
        None if c.is_ascii_control() => (0, u32::from(c)),
        None => (2, c.to_lowercase().next().map_or(u32::from(c), u32::from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_before_digits_and_digits_before_letters() {
        let sorted = ["_", "-", ":", ".", "@", "/", "$", "0", "9", "a", "A", "b", "B", "z"];
        for pair in sorted.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn case_decides_only_where_nothing_else_does() {
        assert_eq!(compare("aB1", "ab2"), Ordering::Less);
        assert_eq!(compare("ab", "aB"), Ordering::Less);
        assert_eq!(compare("Ab", "aa"), Ordering::Greater);
        assert_eq!(compare("1.10", "1.9"), Ordering::Less);
        assert_eq!(compare("a-b", "ab"), Ordering::Less);
        assert_eq!(compare("same", "same"), Ordering::Equal);
    }
}
