//! Archives whose bytes depend on nothing but the files: their order, owners and times are fixed.

use super::does;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Packs the folder `name` of `stage` as `name.tar.gz` in `out`, by GNU tar; `time` is that of all files.
///
/// # Errors
/// tar or gzip is missing or fails.
pub fn pack(stage: &Path, name: &str, time: &str, out: &Path) -> Result<()> {
    let file = out.join(format!("{name}.tar"));
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--format=gnu",
        "--sort=name",
        "--owner=0",
        "--group=0",
    ])
    .args(["--numeric-owner", "--mode=u=rwX,go=rX"])
    .arg(format!("--mtime=@{time}"))
    .arg("--file")
    .arg(&file)
    .arg("--directory")
    .arg(stage)
    .arg(name);
    does(&mut tar)?;
    // Without the name and the time of the file.
    does(
        Command::new("gzip")
            .args(["-9", "--no-name", "--force"])
            .arg(&file),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_same_files_give_the_same_archive() {
        let pack_again = |order: [&str; 2], time: u64| {
            let folder = tempfile::tempdir().unwrap();
            let inside = folder.path().join("a");
            fs::create_dir(&inside).unwrap();
            for name in order {
                let file = fs::File::create(inside.join(name)).unwrap();
                file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(time))
                    .unwrap();
            }
            pack(folder.path(), "a", "1700000000", folder.path()).unwrap();
            fs::read(folder.path().join("a.tar.gz")).unwrap()
        };
        assert_eq!(
            pack_again(["x", "y"], 1),
            pack_again(["y", "x"], 1_000_000_000)
        );
    }
}
