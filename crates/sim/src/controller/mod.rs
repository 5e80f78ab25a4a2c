//! The controller: decides *when* flash operations happen.
//!
//! Two back ends take the same [`FlashOp`]s. [`plain`] serves every die in order with one register
//! and no mechanism that could be switched: closed forms describe it to the nanosecond, and a run
//! of operations is one event. [`full`] has all mechanisms. A device that uses none of them gets
//! the plain one, so unused mechanisms cost nothing; where both apply they agree (tested), so each
//! checks the other.
//!
//! | file | holds |
//! |---|---|
//! | `flash_op` | operations in the queues of the dies |
//! | `config` | the `controller` section of a device file |
//! | `plain` | dies in order |
//! | `full/` | planes, cache commands, suspension, priorities, program units, variation |
//! | `breakdown` | what a command's time was spent on |
//! | `timeline` | spans of activity for trace viewers |
//! | `work` | what dies have done, for their energy |
//! | `cut` | how far the flash is when the power fails |
//! | `energy` | what everything but the flash draws |

pub mod breakdown;
pub mod config;
mod cut;
pub mod energy;
mod flash_op;
pub mod full;
pub mod plain;
pub mod timeline;
mod work;

pub use config::ControllerConfig;
pub use cut::{Cut, Working};
pub use energy::PowerConfig;
pub use flash_op::{Detail, FlashOp, OpKind, NO_COMMAND};
pub use work::Work;
