//! Whether a program needs nothing of the machine that it runs on.

use anyhow::{Context, Result, ensure};

/// Processors, as ELF numbers them.
pub const X86_64: u16 = 62;
pub const AARCH64: u16 = 183;

/// Kind of a program header that asks for a loader, and with it for shared libraries.
const INTERPRETER: u32 = 3;

/// A 64-bit program for `machine` that asks for no loader.
///
/// # Errors
/// It is not.
pub fn is_static(program: &[u8], machine: u16) -> Result<()> {
    ensure!(
        program.starts_with(b"\x7fELF\x02\x01"),
        "no 64-bit ELF file"
    );
    let number = |at: usize, bytes: usize| {
        let field = program
            .get(at..at + bytes)
            .context("an ELF file that is cut")?;
        let digits = field.iter().rev();
        Ok::<u64, anyhow::Error>(digits.fold(0, |n, byte| n << 8 | u64::from(*byte)))
    };
    let found = number(18, 2)?;
    ensure!(
        found == u64::from(machine),
        "it is for the processor {found}, not {machine}"
    );
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for header in 0..count {
        let kind = number(usize::try_from(headers + header * size)?, 4)?;
        ensure!(
            kind != u64::from(INTERPRETER),
            "it is not static: it asks for a loader"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests themselves are linked against shared libraries.
    #[test]
    fn a_dynamic_program_is_found_out() {
        let mut program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let machine = if cfg!(target_arch = "x86_64") {
            X86_64
        } else {
            AARCH64
        };
        let fault = |program: &[u8], machine| is_static(program, machine).unwrap_err().to_string();
        assert!(fault(&program, machine).contains("asks for a loader"));
        assert!(fault(&program, machine ^ 1).contains("it is for the processor"));
        assert!(fault(b"#!/bin/sh", machine).contains("no 64-bit ELF"));
        assert!(fault(&program[..60], machine).contains("cut"));
        // The same one without its program headers asks for nothing.
        program[56] = 0;
        program[57] = 0;
        is_static(&program, machine).unwrap();
    }
}
