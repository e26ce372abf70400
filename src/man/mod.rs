//! The man pages: verbs from the command line's own types, the file's keys from their list, the rest written here. What
//! is checked in under `man/` is what this makes.

mod config;
mod devcontainer;
mod page;
mod verbs;

pub use page::Page;

/// Every page.
pub fn pages() -> Vec<Page> {
    let mut pages = verbs::pages();
    pages.push(config::page());
    pages.push(devcontainer::page());
    pages
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_verb_has_a_page_and_every_page_has_examples() {
        let pages = pages();
        let names: BTreeSet<String> = pages.iter().map(Page::file).collect();
        for verb in crate::cli::command().get_subcommands() {
            assert!(names.contains(&format!("cowbox-{}.1", verb.get_name())), "{}", verb.get_name());
        }
        for extra in ["cowbox.1", "cowbox-config.5", "cowbox-devcontainer.7"] {
            assert!(names.contains(extra), "{extra}");
        }
        for page in &pages {
            let examples = page.text.split(".SH EXAMPLES\n").nth(1).unwrap_or_else(|| panic!("{}", page.file()));
            assert!(examples.contains("cowbox") || examples.contains(" = "), "{}", page.file());
        }
    }

    #[test]
    fn the_pages_in_the_repository_are_these() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
        // The binary may run far from its source, for a user who cannot read it.
        let Ok(listing) = std::fs::read_dir(&dir) else { return };
        let there: BTreeSet<String> = listing.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        let pages = pages();
        assert_eq!(there, pages.iter().map(Page::file).collect(), "cowbox man man");
        for page in pages {
            let text = std::fs::read_to_string(dir.join(page.file())).unwrap();
            assert!(text == page.text, "man/{} is old: cowbox man man", page.file());
        }
    }
}
