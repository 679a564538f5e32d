//! Durations of the phases.

use destage_types::{Nanos, Picos, SECTOR_BYTES};

use super::{FlashCommand, OpKind};

/// Times of the phases that do not depend on the amount of data. Keys of a device file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// Command and address of a read on the bus.
    pub t_cmd_read: Nanos,
    /// Command and address of a program on the bus, before its data.
    pub t_cmd_program: Nanos,
    /// Command of an erase on the bus.
    pub t_cmd_erase: Nanos,
    /// Command and address of a copyback on the bus. The papers know none: 0, and then a
    /// copyback needs no bus at all.
    pub t_cmd_copyback: Nanos,
    /// Array read.
    pub t_read: Nanos,
    /// Array program.
    pub t_program: Nanos,
    /// Block erase.
    pub t_erase: Nanos,
    /// From the end of an array read until data can be moved.
    pub t_ready: Nanos,
}

impl Timing {
    /// Bus time of the first phase: a command for every plane, and the data of a program.
    #[inline]
    pub fn first_bus(&self, command: &FlashCommand) -> Nanos {
        let planes = u64::from(command.planes);
        match command.kind {
            OpKind::Read => Nanos(planes * self.t_cmd_read.0),
            OpKind::Program => Nanos(planes * self.t_cmd_program.0) + command.transfer,
            OpKind::Erase => Nanos(planes * self.t_cmd_erase.0),
            OpKind::Copyback => Nanos(planes * self.t_cmd_copyback.0),
        }
    }

    /// Time in the array, including `t_ready` of every array read.
    #[inline]
    pub fn array(&self, command: &FlashCommand) -> Nanos {
        match (command.kind, command.array) {
            (OpKind::Read, array) => array.unwrap_or(self.t_read) + self.t_ready,
            (OpKind::Program, array) => array.unwrap_or(self.t_program),
            (OpKind::Erase, array) => array.unwrap_or(self.t_erase),
            (OpKind::Copyback, array) => {
                self.t_read + self.t_ready + array.unwrap_or(self.t_program)
            }
        }
    }

    /// Whole read with `transfer` on the bus, nothing in its way.
    pub fn read_time(&self, transfer: Nanos) -> Nanos {
        self.t_cmd_read + self.t_read + self.t_ready + transfer
    }

    /// Whole program with `transfer` on the bus, nothing in its way.
    pub fn program_time(&self, transfer: Nanos) -> Nanos {
        self.t_cmd_program + transfer + self.t_program
    }

    /// Whole erase, nothing in its way.
    pub fn erase_time(&self) -> Nanos {
        self.t_cmd_erase + self.t_erase
    }

    /// Whole copyback, nothing in its way.
    pub fn copyback_time(&self) -> Nanos {
        self.t_cmd_copyback + self.t_read + self.t_ready + self.t_program
    }
}

/// Bus time of data. Each transfer is rounded up to a nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusTransfer {
    /// Time per byte.
    pub t_byte: Picos,
    /// Bytes on the bus for a sector of 512 B: 528 where the spare area is moved too.
    pub sector_bytes: u32,
}

impl BusTransfer {
    /// No spare bytes.
    pub const fn new(t_byte: Picos) -> BusTransfer {
        BusTransfer {
            t_byte,
            sector_bytes: SECTOR_BYTES as u32,
        }
    }

    /// Bus time of `sectors` sectors.
    #[inline]
    pub const fn sectors(&self, sectors: u32) -> Nanos {
        self.t_byte.times(sectors as u64 * self.sector_bytes as u64)
    }

    /// Bus time of `bytes` bytes as they are on the bus.
    #[inline]
    pub const fn bytes(&self, bytes: u64) -> Nanos {
        self.t_byte.times(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_bytes_and_fractions() {
        let ecr = BusTransfer {
            t_byte: Picos(25_000),
            sector_bytes: 528,
        };
        assert_eq!(ecr.sectors(8), Nanos(105_600), "4 KiB of ECR's Table 2");
        let odd = BusTransfer::new(Picos(830));
        assert_eq!(odd.sectors(8), Nanos(3_400), "3399.68 ns rounded up");
        assert_eq!(odd.bytes(1), Nanos(1));
        assert_eq!(odd.sectors(0), Nanos(0));
    }

    #[test]
    fn whole_operations() {
        let t = Timing {
            t_cmd_read: Nanos(290),
            t_cmd_program: Nanos(361),
            t_cmd_erase: Nanos(220),
            t_cmd_copyback: Nanos(0),
            t_read: Nanos(75_000),
            t_program: Nanos(750_000),
            t_erase: Nanos(3_800_000),
            t_ready: Nanos(20),
        };
        assert_eq!(t.read_time(Nanos(12_288)), Nanos(87_598));
        assert_eq!(t.program_time(Nanos(12_288)), Nanos(762_649));
        assert_eq!(t.erase_time(), Nanos(3_800_220));
        assert_eq!(t.copyback_time(), Nanos(825_020));
    }
}
