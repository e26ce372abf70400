//! A command line that is not finished: which argument the word under the cursor belongs to.

use clap::{Arg, ArgAction, Command};

/// The line as far as the cursor.
#[derive(Debug)]
pub struct Line<'c> {
    /// The verb's command, or cowbox itself.
    pub command: &'c Command,
    /// What the last word is.
    pub place: Place<'c>,
    /// The last word, without the option that it begins with.
    pub current: String,
    /// That option, with its `=`: `--engine=`.
    pub option: String,
    /// Values before the cursor, by the id of their argument.
    values: Vec<(&'c str, String)>,
}

/// What a word is.
#[derive(Clone, Copy, Debug)]
pub enum Place<'c> {
    /// The name of a verb.
    Verb,
    /// An option.
    Option,
    /// The value of an argument.
    Value(&'c Arg),
    /// A further word of the command that is run: its own affair.
    Beyond,
}

impl<'c> Line<'c> {
    /// Reads the words; none where nothing can follow.
    pub fn read(root: &'c Command, words: &[String]) -> Option<Self> {
        let (current, before) = words.get(1..)?.split_last()?;
        let mut line =
            Line { command: root, place: Place::Verb, current: current.clone(), option: String::new(), values: vec![] };
        let mut waiting: Option<&Arg> = None;
        let (mut escaped, mut beyond) = (false, 0);
        for word in before {
            if let Some(arg) = waiting.take() {
                line.note(arg, word);
            } else if escaped {
                beyond += 1;
            } else if word == "--" {
                escaped = true;
            } else if word.len() > 1 && word.starts_with('-') {
                waiting = line.option(word);
            } else if let Some(verb) = line.command.find_subcommand(word) {
                line.command = verb;
            } else if let Some(arg) = line.positional(false) {
                line.note(arg, word);
            }
        }
        line.place = line.place(waiting, escaped, beyond)?;
        Some(line)
    }

    fn place(&mut self, waiting: Option<&'c Arg>, escaped: bool, beyond: usize) -> Option<Place<'c>> {
        if let Some(arg) = waiting {
            return Some(Place::Value(arg));
        }
        if escaped {
            let last = self.positional(true)?;
            // Of a command the first word is its name; paths are all alike.
            let is_command = last.get_id() == "command";
            return Some(if is_command && beyond > 0 { Place::Beyond } else { Place::Value(last) });
        }
        if let Some((name, value)) = self.current.strip_prefix("--").and_then(|word| word.split_once('=')) {
            let arg = self.long(name)?;
            (self.option, self.current) = (format!("--{name}="), value.to_owned());
            return Some(Place::Value(arg));
        }
        if self.current.starts_with('-') {
            return Some(Place::Option);
        }
        if self.command.has_subcommands() {
            return Some(Place::Verb);
        }
        Some(self.positional(false).map_or(Place::Option, Place::Value))
    }

    /// The value of an argument that stands before the cursor.
    pub fn value(&self, id: &str) -> Option<&str> {
        self.values.iter().rev().find(|(own, _)| *own == id).map(|(_, value)| value.as_str())
    }

    /// Whether an option can still be said.
    pub fn is_free(&self, arg: &Arg) -> bool {
        matches!(arg.get_action(), ArgAction::Append | ArgAction::Count)
            || self.values.iter().all(|(id, _)| *id != arg.get_id().as_str())
    }

    fn note(&mut self, arg: &'c Arg, value: &str) {
        self.values.push((arg.get_id().as_str(), value.to_owned()));
    }

    /// Notes an option; the argument whose value must follow.
    fn option(&mut self, word: &str) -> Option<&'c Arg> {
        let (arg, value) = match word.strip_prefix("--") {
            Some(long) => {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                (self.long(name)?, value)
            }
            // Of several in one word only the last can have a value.
            None => self.short(&word[1..])?,
        };
        match value {
            Some(value) => self.note(arg, value),
            None if arg.get_action().takes_values() && !arg.is_require_equals_set() => return Some(arg),
            None => self.note(arg, ""),
        }
        None
    }

    fn long(&self, name: &str) -> Option<&'c Arg> {
        self.command.get_arguments().find(|arg| arg.get_long() == Some(name))
    }

    fn short<'w>(&self, cluster: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
        let mut last = None;
        for (at, letter) in cluster.char_indices() {
            let arg = self.command.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
            let rest = &cluster[at + letter.len_utf8()..];
            if arg.get_action().takes_values() {
                return Some((arg, (!rest.is_empty()).then_some(rest)));
            }
            last = Some((arg, None));
        }
        last
    }

    /// The next argument without a name, before or after `--`.
    fn positional(&self, escaped: bool) -> Option<&'c Arg> {
        let mut all = self.command.get_positionals().filter(|arg| arg.is_last_set() == escaped);
        all.find(|arg| escaped || self.is_free(arg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last word is, and what it says so far.
    fn place(words: &[&str]) -> String {
        let mut command = crate::cli::command();
        command.build();
        let words: Vec<String> = std::iter::once(&"cowbox").chain(words).map(|w| (*w).to_owned()).collect();
        let Some(line) = Line::read(&command, &words) else { return "nothing".into() };
        let what = match line.place {
            Place::Verb => "verb".to_owned(),
            Place::Option => "option".to_owned(),
            Place::Value(arg) => arg.get_id().to_string(),
            Place::Beyond => "beyond".to_owned(),
        };
        format!("{what} of {}: {}", line.command.get_name(), line.current)
    }

    #[test]
    fn a_word_belongs_to_what_stands_before_it() {
        for (words, expected) in [
            (&[""][..], "verb of cowbox: "),
            (&["-q", "ap"], "verb of cowbox: ap"),
            (&["--color", "al"], "color of cowbox: al"),
            (&["run", "--"], "option of run: --"),
            (&["run", "--engine", ""], "engine of run: "),
            (&["run", "--engine=po"], "engine of run: po"),
            (&["run", "-q", "--network", "n"], "network of run: n"),
            (&["run", "-C", "/tm"], "directory of run: /tm"),
            (&["run", "-qC", "/tm"], "directory of run: /tm"),
            (&["run", "--", "ma"], "command of run: ma"),
            (&["run", "--", "make", "te"], "beyond of run: te"),
            (&["diff", ""], "session of diff: "),
            (&["diff", "api", ""], "option of diff: "),
            (&["diff", "--", "src/"], "paths of diff: src/"),
            (&["diff", "api", "--", "a", "b"], "paths of diff: b"),
            (&["apply", "--commits", "ap"], "session of apply: ap"),
            (&["apply", "--allow", "ci,"], "allow of apply: ci,"),
            (&["config", ""], "verb of config: "),
            (&["ls", "--", ""], "nothing"),
        ] {
            assert_eq!(place(words), expected, "{words:?}");
        }
    }
}
