//! How much memory a command may take, and how much it has taken.

use crate::stopwatch::Stopwatch;
use destage_console::failure::Failure;
use destage_types::ByteSize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Percent of the available memory that a command takes without `--memory`.
const SHARE: u64 = 70;
/// The most that the requests of a trace are kept in without being asked for: reading them from a
/// temporary file takes 60 ns each.
const REQUESTS: u64 = 1 << 30;
/// Time between two looks at the memory of the program.
const LOOK_MS: u128 = 20;
/// The available memory where the system does not say. A program in a browser has addresses for 4
/// GiB.
const UNKNOWN: u64 = if cfg!(target_family = "wasm") {
    4 << 30
} else {
    8 << 30
};

/// The memory that a command may take.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    bytes: u64,
}

impl MemoryLimit {
    /// The limit of `--memory`, or else a share of the available memory.
    pub fn new(given: Option<ByteSize>) -> MemoryLimit {
        let bytes = given.map_or_else(|| mib(share(there_is())).0, |given| given.0);
        MemoryLimit { bytes }
    }

    /// All of it.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Bytes for the requests of one trace before they go to a temporary file: a quarter, so that
    /// runs have the rest, and at most 1 GiB.
    pub fn of_requests(self) -> u64 {
        (self.bytes / 4).min(REQUESTS)
    }

    /// Bytes for a timeline before it is written: a quarter, as the run and its trace need the
    /// rest.
    pub fn of_timeline(self) -> u64 {
        self.bytes / 4
    }

    /// `what` is the reason that the program came to take `bytes`.
    pub fn refused(self, what: &str, bytes: u64) -> Failure {
        let (taken, allowed) = (mib(bytes), ByteSize(self.bytes));
        Failure::Run(format!(
            "{what} takes {taken} of memory, more than the {allowed} of --memory"
        ))
    }

    /// The bytes that the program has, if they are more than allowed.
    pub fn exceeded(self) -> Option<u64> {
        used_bytes().filter(|&bytes| bytes > self.bytes)
    }
}

/// Looks at the memory of the program now and then: asking the system takes longer than some thousands
/// of requests.
pub struct MemoryWatch {
    /// Memory that the program may take.
    pub limit: MemoryLimit,
    start: Stopwatch,
    /// Number of the look at which the system was asked last.
    last: AtomicU64,
}

impl MemoryWatch {
    /// A watch for all threads.
    pub fn new(limit: MemoryLimit) -> MemoryWatch {
        MemoryWatch {
            limit,
            start: Stopwatch::start(),
            last: AtomicU64::new(u64::MAX),
        }
    }

    /// The bytes that the program has, if they are more than allowed and it is time to look.
    pub fn exceeded(&self) -> Option<u64> {
        if cfg!(target_family = "wasm") {
            // Asking takes an instruction there, and no clock says when it is time.
            return self.limit.exceeded();
        }
        let now = (self.start.elapsed().as_millis() / LOOK_MS) as u64;
        let due = self.last.swap(now, Ordering::Relaxed) != now;
        due.then(|| self.limit.exceeded())?
    }
}

/// Whole MiB, at least one.
pub fn mib(bytes: u64) -> ByteSize {
    ByteSize(bytes.div_ceil(1 << 20).max(1) << 20)
}

fn share(bytes: u64) -> u64 {
    (u128::from(bytes) * u128::from(SHARE) / 100) as u64
}

/// The memory of the machine, of the cgroup of this program, or of its address space: the least.
fn there_is() -> u64 {
    let machine = table("/proc/meminfo", "MemTotal:").map(|kib| kib << 10);
    let space = table("/proc/self/limits", "Max address space");
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = of_groups(Path::new("/sys/fs/cgroup"), &groups);
    let known = [machine, space, group].into_iter().flatten().min();
    known.unwrap_or(UNKNOWN)
}

/// The first number behind `name` in a file of lines.
fn table(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The least limit of the groups that `text`, a `/proc/self/cgroup`, names, and of those above them.
fn of_groups(root: &Path, text: &str) -> Option<u64> {
    let limits = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        of_group(&root, path, file)
    });
    limits.min()
}

/// The least limit in `file` of a group and of those above it. In a container the path of the group may
/// be that outside, of which only the root is seen.
fn of_group(root: &Path, path: &str, file: &str) -> Option<u64> {
    let group: PathBuf = root.join(path.trim_start_matches('/'));
    let up = group
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    let limits = up.filter_map(|folder| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.trim().parse().ok() // `max` is none.
    });
    limits.min()
}

/// Bytes of memory that this program has; `None` if the system does not say. Its own code, which the system
/// drops and reads again as it likes, is none of it.
#[cfg(not(target_family = "wasm"))]
fn used_bytes() -> Option<u64> {
    let of = |field| table("/proc/self/status", field).map(|kib| kib << 10);
    Some(of("RssAnon:")? + of("RssShmem:")?)
}

#[cfg(target_family = "wasm")]
fn used_bytes() -> Option<u64> {
    Some((core::arch::wasm32::memory_size(0) as u64) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_asked_up_to_the_root() {
        let root = tempfile::tempdir().unwrap();
        let put = |folder: &str, file: &str, text: &str| {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        };
        put("a/b", "memory.max", "max\n");
        put("a", "memory.max", "1000\n");
        put("memory/c", "memory.limit_in_bytes", "5000\n");
        put("memory", "memory.limit_in_bytes", "9223372036854771712\n");
        let of = |text: &str| of_groups(root.path(), text);
        assert_eq!(of("0::/a/b\n"), Some(1_000));
        assert_eq!(of("9:memory:/c\n3:cpu,cpuacct:/\n0::/x\n"), Some(5_000));
        assert_eq!(
            of("9:cpu,memory:/elsewhere\n"),
            Some(9_223_372_036_854_771_712)
        );
        assert_eq!(of("0::/x\n"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn seventy_percent_of_what_there_is() {
        assert_eq!(share(1_000), 700);
        assert!(share(u64::MAX) > u64::MAX / 2);
        let given = MemoryLimit::new(Some(ByteSize(4 << 20)));
        assert_eq!((given.bytes(), given.of_requests()), (4 << 20, 1 << 20));
        assert_eq!(
            MemoryLimit::new(Some(ByteSize(1 << 40))).of_requests(),
            1 << 30
        );
        assert!(given.exceeded().is_none_or(|bytes| bytes > 4 << 20));
        assert!(MemoryLimit::new(None).bytes() > 16 << 20);
    }
}
