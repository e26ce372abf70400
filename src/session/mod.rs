//! One sandbox over one repo, durable: it outlives its processes, a reboot and a crash.

pub mod clock;
pub mod id;
pub mod liveness;
pub mod lock;
pub mod record;
pub mod repos;
pub mod select;
pub mod state;
pub mod store;
pub mod tally;

pub use id::SessionId;
pub use record::Record;
pub use state::State;
pub use store::{Session, Store};
