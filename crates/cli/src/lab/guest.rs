//! The guest: a user-mode kernel that sees this machine's files read-only, a new file system on the
//! disk, and runs one command there.

use crate::args::lab::{GUEST_FS, GuestArgs, GuestFs};
use destage_console::failure::Failure;
use destage_console::terminal::say;
use destage_experiment::options::word_of;
use std::fmt::Display;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Sockets in the folder of the guest. The kernel's arguments are the same at every start, as its random
/// numbers begin with them.
pub const CALENDAR: &str = "calendar";
pub const DISK: &str = "disk";

/// Where programs are looked for, in the guest and here.
const PROGRAMS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Lines of the kernel that are shown when it fails.
const LAST_WORDS: usize = 5;

/// The first program in the guest; it ends with the lines of the file system and the command.
///
/// A read of the disk's serial number is a sign to the outside.
const INIT: &str = r#"#!/bin/sh
exec > /dev/tty1 2>&1
export PATH=@PROGRAMS@ HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
grep -q ' /dev ' /proc/mounts || mount -t devtmpfs dev /dev
mount -t hostfs -o "@FOLDER@" lab /mnt
sign() { cat /sys/block/vda/serial > /dev/null; }
stop() { poweroff -f > /dev/null 2>&1; }
fail() { echo "$1" > /mnt/failed; stop; }
@MKFS@ /dev/vda > /mnt/said 2>&1 || fail "mkfs"
mount -t @FS@ -o "@MOUNT@" /dev/vda /mnt/volume > /mnt/said 2>&1 || fail "mount"
cd /mnt/volume
sync
sign
@COMMAND@
code=$?
sign
sync
sign
echo $code > /mnt/code
cd /
umount /mnt/volume > /mnt/said 2>&1 || fail "umount"
@FSCK@ /dev/vda > /mnt/said 2>&1 || fail "fsck"
stop
"#;

/// The folder of a guest, with what it runs and what it says.
pub struct Guest {
    folder: PathBuf,
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Programs that make and check the file system, with their options.
fn tools(fs: GuestFs) -> (&'static str, &'static str, &'static str) {
    match fs {
        // The rest of the inode tables is never made: it would be written beside the load.
        GuestFs::Ext4 => (
            "mkfs.ext4 -q -F -E lazy_itable_init=1,lazy_journal_init=1",
            "e2fsck -f -n",
            "noinit_itable",
        ),
        GuestFs::F2fs => ("mkfs.f2fs -q -f", "fsck.f2fs", ""),
    }
}

/// The program of that name, where guests look for it.
fn program(name: &str) -> Option<PathBuf> {
    let places = PROGRAMS.iter().map(|folder| Path::new(folder).join(name));
    let mut there = places.filter(|path| path.is_file());
    there.next()
}

/// A command that runs `kernel` with its memory at the same addresses at every start, which decide in
/// what order it hands out pages. Where that is forbidden, as in some containers, it says so.
fn at_fixed_addresses(kernel: &Path) -> Command {
    let fixed = || {
        let mut command = Command::new("setarch");
        command.arg("-R");
        command
    };
    let tried = fixed().arg("true").stderr(Stdio::null()).status();
    if tried.is_ok_and(|status| status.success()) {
        let mut command = fixed();
        command.arg(kernel);
        return command;
    }
    say(
        "warning: this machine does not allow fixed addresses for the kernel (setarch -R): repeated runs may \
         differ slightly",
    );
    Command::new(kernel)
}

impl Guest {
    /// Writes what the guest runs into `folder`.
    ///
    /// # Errors
    /// A program that it needs is missing, or the folder takes no files.
    pub fn new(folder: &Path, args: &GuestArgs, command: &[String]) -> Result<Guest, Failure> {
        let (mkfs, fsck, mount) = tools(args.fs());
        let [make, check] = [mkfs, fsck].map(|tool| tool.split(' ').next().unwrap_or(tool));
        let needed = [make, check, "mount", "umount", "poweroff"];
        let missing: Vec<&str> = needed
            .into_iter()
            .filter(|name| program(name).is_none())
            .collect();
        if !missing.is_empty() {
            return Err(Failure::usage(format!(
                "the guest needs {}, which this machine does not have",
                missing.join(", ")
            )));
        }
        let fs = word_of(GUEST_FS, args.fs());
        let mkfs: Vec<String> = std::iter::once(mkfs.to_owned())
            .chain(
                args.mkfs
                    .iter()
                    .flat_map(|all| all.split_whitespace().map(quoted)),
            )
            .collect();
        let mount: Vec<&str> = [mount].into_iter().chain(args.mount.as_deref()).collect();
        let mount = mount.into_iter().filter(|option| !option.is_empty());
        let mount = mount.collect::<Vec<_>>().join(",");
        let mount = if mount.is_empty() {
            "defaults".to_owned()
        } else {
            mount
        };
        let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        let folder_text = folder.display().to_string();
        let init = INIT
            .replace("@PROGRAMS@", &PROGRAMS.join(":"))
            .replace("@FOLDER@", &folder_text)
            .replace("@MKFS@", &mkfs.join(" "))
            .replace("@FSCK@", fsck)
            .replace("@FS@", fs)
            .replace("\"@MOUNT@\"", &quoted(&mount))
            .replace("@COMMAND@", &command.join(" "));
        let path = folder.join("init");
        let written = fs::create_dir(folder.join("volume"))
            .and_then(|()| fs::write(&path, init))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
        written.map_err(|error| Failure::Run(format!("{folder_text}: {error}")))?;
        Ok(Guest {
            folder: folder.to_owned(),
        })
    }

    /// Starts the kernel.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn boot(&self, kernel: &Path, args: &GuestArgs) -> Result<Child, Failure> {
        let failed = |error| Failure::usage(format!("--kernel {}: {error}", kernel.display()));
        let console = File::create(self.folder.join("console")).map_err(failed)?;
        let kernel = fs::canonicalize(kernel).map_err(failed)?;
        let mut command = at_fixed_addresses(&kernel);
        command
            .current_dir(&self.folder)
            .arg(format!("mem={}M", args.guest_memory().0 >> 20))
            .args([
                "root=/dev/root",
                "rootfstype=hostfs",
                "rootflags=/",
                "ro",
                "quiet",
            ])
            .args([
                "init=/proc/self/cwd/init",
                "con=null",
                "con0=null,fd:2",
                "con1=null,fd:1",
            ])
            .arg(format!("time-travel=ext:{CALENDAR}"))
            .arg(format!("virtio_uml.device={DISK}:2"))
            .stdin(Stdio::null())
            .stdout(Stdio::inherit())
            .stderr(console)
            // A signal of the terminal is for this process, which ends the guest.
            .process_group(0);
        command.spawn().map_err(failed)
    }

    /// How the command ended, once the guest has.
    ///
    /// # Errors
    /// A step beside the command failed, or the guest ended before the command did.
    pub fn code(&self) -> Result<i32, Failure> {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let failed = read("failed");
        if !failed.is_empty() {
            let (step, said) = (failed.trim(), read("said"));
            return Err(Failure::Run(format!(
                "{step} failed in the guest: {}",
                said.trim()
            )));
        }
        let code = read("code").trim().parse();
        code.map_err(|_| self.failure("it ended before the command did"))
    }

    /// The failure, with the last words of the kernel.
    pub fn failure(&self, what: impl Display) -> Failure {
        let console = fs::read_to_string(self.folder.join("console")).unwrap_or_default();
        let lines: Vec<&str> = console.trim().lines().collect();
        let said = lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n");
        let said = if said.is_empty() { "nothing" } else { &said };
        Failure::Run(format!("the guest: {what}; its kernel said: {said}"))
    }
}
