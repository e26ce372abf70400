//! Children: who gets which signal, how long they may take, and how they ended.

pub mod capture;
pub mod relay;
pub mod supervise;

use std::io::IsTerminal;

/// The command gets a terminal only if all three streams are one: else bytes would be changed.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}
