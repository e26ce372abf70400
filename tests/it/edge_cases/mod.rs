//! The hard edge cases of overlays, each as a user would meet it: run, apply, undo.

mod identity;
mod marks;
mod meanwhile;
mod names;
mod sizes;
