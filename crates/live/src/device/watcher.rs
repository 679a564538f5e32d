//! Observers of the requests that a device is given.

use destage_types::{HostRequest, Nanos};

/// Sees what a device is given, when it is given.
pub trait RequestWatcher: Send {
    /// A request with its arrival.
    fn request(&mut self, request: &HostRequest);

    /// The power went and came back.
    fn power_cycle(&mut self, _at: Nanos) {}
}
