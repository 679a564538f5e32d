//! The script never writes to a drive that somebody uses, on machines that are drawn at random.

use super::*;
use destage_types::rng::SplitMix64;
use std::os::unix::fs::OpenOptionsExt;

/// Of a block device: for nobody else.
const O_EXCL: i32 = 0o200;

/// A machine in a folder: the script reads its /proc, /sys and /dev.
struct Machine {
    root: tempfile::TempDir,
    programs: tempfile::TempDir,
}

/// The drive is called sdz and has two partitions.
const PARTS: [(&str, &str); 3] = [
    ("sdz", "65:144"),
    ("sdz/sdz1", "65:145"),
    ("sdz/sdz2", "65:146"),
];

impl Machine {
    fn new() -> Machine {
        let (root, programs) = (tempfile::tempdir().unwrap(), fake_fio("fio-3.33"));
        program(programs.path(), "id", "echo 0");
        let machine = Machine { root, programs };
        for (part, number) in PARTS {
            machine.write(&format!("sys/class/block/{part}/dev"), number);
        }
        machine.write("sys/class/block/sdz/size", "2000000");
        for file in [
            "dev/null",
            "dev/sdz",
            "dev/sdy",
            "proc/self/mountinfo",
            "proc/swaps",
        ] {
            machine.write(file, "");
        }
        let by_id = machine.path("dev/by-id");
        std::os::unix::fs::symlink(machine.path("dev/sdz"), by_id).unwrap();
        for file in FILES {
            let mut text = file.text.replace("[ -b ", "[ -e ");
            for folder in ["/proc/", "/sys/", "/dev/"] {
                text = text.replace(
                    folder,
                    &format!("{}{folder}", machine.root.path().display()),
                );
            }
            machine.write(&format!("probe/{}", file.name), &text);
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Adds a line to a file.
    fn write(&self, path: &str, line: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        writeln!(file.unwrap(), "{line}").unwrap();
    }

    fn mount(&self, number: &str, kind: &str, source: &str) {
        let optional = if kind == "ext4" {
            "shared:7 master:1 "
        } else {
            ""
        };
        let source = source.replace("/dev/", &format!("{}/dev/", self.root.path().display()));
        let line = format!(
            "31 27 {number} / /mnt/a rw,noatime {optional}- {kind} {source} rw,space_cache"
        );
        self.write("proc/self/mountinfo", &line);
    }

    /// Something uses the drive in one of the ways that there are. Gives words of the refusal.
    fn use_drive(&self, rng: &mut SplitMix64) -> &'static str {
        let (part, number) = PARTS[rng.below(3) as usize];
        let name = part.rsplit('/').next().unwrap();
        match rng.below(7) {
            0 => self.mount(number, "ext4", "/dev/root"),
            1 => self.mount("0:41", "btrfs", &format!("/dev/{name}")),
            2 => self.mount("0:41", "btrfs", "/dev/by-id"),
            3 => {
                let swap = self.path(&format!("dev/{name}"));
                self.write(
                    "proc/swaps",
                    &format!("{} partition 9 0 -2", swap.display()),
                );
                return "is used for swap";
            }
            4 => {
                self.write(&format!("sys/class/block/{part}/holders/dm-0"), "");
                return "is used by";
            }
            5 => {
                self.write(&format!("sys/fs/btrfs/0-1/devices/{name}"), "");
                return "is used by";
            }
            // ZFS, which has datasets as sources.
            _ => {
                self.mount("0:44", "zfs", "tank/data");
                program(self.programs.path(), "wipefs", "echo busy >&2; exit 1");
                return "cannot open";
            }
        }
        "is mounted at /mnt/a"
    }

    /// Others have mounts and swap.
    fn use_others(&self, rng: &mut SplitMix64) {
        match rng.below(5) {
            0 => self.mount("0:23", "tmpfs", "tmpfs"),
            1 => self.mount("8:17", "ext4", "/dev/sdy1"),
            2 => self.mount("0:42", "btrfs", "/dev/sdza"),
            3 => self.write("proc/swaps", "/dev/sdz10 partition 9 0 -2"),
            _ => self.write("sys/fs/btrfs/0-2/devices/sdy", ""),
        }
    }

    /// Runs the script with the right answers.
    fn probe(&self, device: &str) -> ProbeRun {
        let device = self.path(device);
        let (device, out) = (device.to_str().unwrap(), self.path("results"));
        let words = [
            "--device",
            device,
            "--name",
            "d",
            "--out",
            out.to_str().unwrap(),
        ];
        let answers = format!("{device}\n{device}\n");
        probe(&self.path("probe"), self.programs.path(), &words, &answers)
    }

    /// Calls of a program of util-linux, with their words.
    fn calls(&self, name: &str) -> Vec<String> {
        let calls = fs::read_to_string(self.programs.path().join("calls")).unwrap_or_default();
        let of = |line: &str| {
            line.split_once(&format!("/{name} "))
                .map(|(_, words)| words.to_owned())
        };
        calls.lines().filter_map(of).collect()
    }
}

#[test]
fn a_drive_in_use_is_never_written() {
    let mut rng = SplitMix64::new(1);
    for case in 0..40 {
        let machine = Machine::new();
        (0..rng.below(4)).for_each(|_| machine.use_others(&mut rng));
        let uses = rng.below(2) == 0;
        let refusal = uses.then(|| machine.use_drive(&mut rng));
        let device = ["dev/sdz", "dev/by-id"][rng.below(2) as usize];
        let run = machine.probe(device);
        assert_eq!(run.code, Some(2), "case {case}");
        match refusal {
            Some(words) => {
                assert!(run.output.contains(words), "case {case}: {}", run.output);
                assert!(!run.output.contains("Type "), "case {case}: {}", run.output);
                assert!(
                    machine.calls("blkdiscard").is_empty() && !machine.path("results").exists()
                );
            }
            None => {
                let filled = run.output.contains("fio failed in step 10-fill-01");
                assert!(filled, "case {case}: {}", run.output);
                let drive = machine.path("dev/sdz").display().to_string();
                // Before the questions, and after the answers.
                let exclusive = format!("--all --no-act {drive}");
                assert_eq!(machine.calls("blkdiscard"), [drive]);
                assert_eq!(machine.calls("wipefs"), [exclusive.clone(), exclusive]);
            }
        }
    }
}

/// A drive that is taken while the script waits for an answer is not written either.
#[test]
fn a_drive_that_is_taken_before_the_answer_is_not_written() {
    let machine = Machine::new();
    program(
        machine.programs.path(),
        "wipefs",
        "[ ! -e \"${0%/*}/once\" ] || exit 1; : > \"${0%/*}/once\"",
    );
    let run = machine.probe("dev/sdz");
    assert!(
        run.output.contains("Type ") && run.output.contains("cannot open"),
        "{}",
        run.output
    );
    assert!(machine.calls("blkdiscard").is_empty() && !machine.path("results").exists());
}

/// The kernel and the real wipefs: a loop device that a file system or another loop device holds is refused.
#[test]
fn the_kernel_tells_users_that_no_list_has() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    fs::File::create(&image)
        .and_then(|file| file.set_len(64 << 20))
        .unwrap();
    let attached = Command::new("losetup")
        .args(["-f", "--show"])
        .arg(&image)
        .output();
    let attached = attached.ok().filter(|done| done.status.success());
    let wipefs = Command::new("wipefs").arg("--version").output();
    let (Some(attached), Ok(_)) = (attached, wipefs) else {
        println!("SKIPPED: no loop device can be attached, or wipefs is missing");
        return;
    };
    let device = String::from_utf8(attached.stdout)
        .unwrap()
        .trim()
        .to_owned();
    let opens = || {
        let done = Command::new("wipefs")
            .args(["--all", "--no-act", &device])
            .output();
        done.unwrap().status.success()
    };
    let free = opens();
    // Nothing lists a holder that has opened the device exclusively.
    let held = fs::OpenOptions::new()
        .write(true)
        .custom_flags(O_EXCL)
        .open(&device);
    let in_use = opens();
    drop(held);
    Command::new("losetup")
        .args(["-d", &device])
        .status()
        .unwrap();
    assert!(free, "a device that nobody uses");
    assert!(!in_use, "a device that somebody has for himself");
}
