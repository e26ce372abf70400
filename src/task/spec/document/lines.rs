//! From a byte of a text to its line.

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The number of the line that holds a byte, from 1.
    pub(super) fn at(&self, byte: usize) -> u64 {
        self.0.partition_point(|start| *start <= byte) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_break_belongs_to_the_line_that_it_ends() {
        let lines = Lines::of("a\nb\n");
        assert_eq!([0, 1, 2, 3, 4, 99].map(|byte| lines.at(byte)), [1, 1, 2, 2, 3, 3]);
    }
}
