//! The columns of a Parquet file, block by block.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit as ParquetUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

use crate::mapping::row::Cell;
use crate::time_unit::TimeUnit;

/// One column of a group of rows, and its values in the block that was read last.
pub(super) struct ParquetColumn {
    values: Values,
    nullable: bool,
    unsigned: bool,
    /// Where some values may be null: for each row of the block the place of its value, or -1.
    places: Vec<i16>,
}

/// Declares the types of columns: their readers in the library, and what a value is in a row.
macro_rules! types {
    ($($name:ident $reader:ident $kind:ty: $value:pat => $cell:expr;)*) => {
        /// The reader of a column, and the values of a block that are not null.
        enum Values {
            $($name(ColumnReaderImpl<$kind>, Vec<<$kind as DataType>::T>)),*
        }

        impl Values {
            /// `None` if the type holds nothing of a request.
            fn of(reader: ColumnReader) -> Option<Values> {
                match reader {
                    $(ColumnReader::$reader(reader) => Some(Values::$name(reader, Vec::new())),)*
                    _ => None,
                }
            }

            fn read(&mut self, rows: usize, levels: Option<&mut Vec<i16>>) -> Result<usize, ParquetError> {
                match self {
                    $(Values::$name(reader, values) => {
                        values.clear();
                        reader.read_records(rows, levels, None, values).map(|read| read.0)
                    })*
                }
            }

            #[inline]
            fn get(&self, at: usize) -> Option<Cell<'_>> {
                match self {
                    $(Values::$name(_, values) => values.get(at).map(|$value| $cell),)*
                }
            }
        }
    };
}

types! {
    Bool BoolColumnReader BoolType: value => Cell::Text(if *value { b"true" } else { b"false" });
    Int32 Int32ColumnReader Int32Type: value => Cell::Integer(i128::from(*value));
    Int64 Int64ColumnReader Int64Type: value => Cell::Integer(i128::from(*value));
    Float FloatColumnReader FloatType: value => Cell::Real(f64::from(*value));
    Double DoubleColumnReader DoubleType: value => Cell::Real(*value);
    Text ByteArrayColumnReader ByteArrayType: value => Cell::Text(value.data().trim_ascii());
}

impl ParquetColumn {
    /// The column that `kind` describes and `reader` reads; `None` if its type holds nothing of a request.
    pub fn new(kind: &ColumnDescriptor, reader: ColumnReader) -> Option<ParquetColumn> {
        Some(ParquetColumn {
            values: Values::of(reader)?,
            nullable: kind.max_def_level() > 0,
            unsigned: is_unsigned(kind),
            places: Vec::new(),
        })
    }

    /// Reads the next block, of at most `rows` rows, and says how many it has.
    pub fn read(&mut self, rows: usize) -> Result<usize, ParquetError> {
        self.places.clear();
        let read = self
            .values
            .read(rows, self.nullable.then_some(&mut self.places))?;
        let mut place = -1;
        for level in &mut self.places {
            // A level of 0 is a null.
            (place, *level) = if *level > 0 {
                (place + 1, place + 1)
            } else {
                (place, -1)
            };
        }
        Ok(read)
    }

    /// The value of a row of the block.
    #[inline]
    pub fn get(&self, row: usize) -> Cell<'_> {
        let place = match self.nullable {
            true => self
                .places
                .get(row)
                .and_then(|&place| usize::try_from(place).ok()),
            false => Some(row),
        };
        match (place.and_then(|place| self.values.get(place)), &self.values) {
            (Some(Cell::Integer(n)), Values::Int32(..)) if self.unsigned => {
                Cell::Integer(i128::from(n as u32))
            }
            (Some(Cell::Integer(n)), _) if self.unsigned => Cell::Integer(i128::from(n as u64)),
            (cell, _) => cell.unwrap_or(Cell::Null),
        }
    }
}

fn is_unsigned(kind: &ColumnDescriptor) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    [UINT_8, UINT_16, UINT_32, UINT_64].contains(&kind.converted_type())
        || matches!(kind.logical_type_ref(), Some(LogicalType::Integer(int)) if !int.is_signed)
}

/// The unit that the type of a column of times states.
pub(super) fn time_unit(kind: &ColumnDescriptor) -> Option<TimeUnit> {
    use ConvertedType::{TIME_MICROS, TIME_MILLIS, TIMESTAMP_MICROS, TIMESTAMP_MILLIS};
    match (kind.logical_type_ref(), kind.converted_type()) {
        (Some(LogicalType::Timestamp(time) | LogicalType::Time(time)), _) => {
            Some(match time.unit {
                ParquetUnit::MILLIS => TimeUnit::Milliseconds,
                ParquetUnit::MICROS => TimeUnit::Microseconds,
                ParquetUnit::NANOS => TimeUnit::Nanoseconds,
            })
        }
        (_, TIMESTAMP_MILLIS | TIME_MILLIS) => Some(TimeUnit::Milliseconds),
        (_, TIMESTAMP_MICROS | TIME_MICROS) => Some(TimeUnit::Microseconds),
        _ => None,
    }
}
