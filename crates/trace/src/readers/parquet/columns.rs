//! The columns of a Parquet file, block by block.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit as ParquetUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

use crate::mapping::row::Cell;
use crate::time_unit::TimeUnit;

/// The values of a block that are not null.
enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// One column of a group of rows.
pub(super) struct ParquetColumn {
    reader: ColumnReader,
    nullable: bool,
    unsigned: bool,
    /// 0 for each row of the block whose value is null, where some may be.
    levels: Vec<i16>,
    values: Values,
    /// The next row of the block, and its value.
    row: usize,
    value: usize,
}

impl ParquetColumn {
    /// The column that `kind` describes and `reader` reads; `None` if its type holds nothing of a request.
    pub fn new(kind: &ColumnDescriptor, reader: ColumnReader) -> Option<ParquetColumn> {
        let values = match kind.physical_type() {
            Physical::BOOLEAN => Values::Bool(Vec::new()),
            Physical::INT32 => Values::Int32(Vec::new()),
            Physical::INT64 => Values::Int64(Vec::new()),
            Physical::FLOAT => Values::Float(Vec::new()),
            Physical::DOUBLE => Values::Double(Vec::new()),
            Physical::BYTE_ARRAY => Values::Text(Vec::new()),
            _ => return None,
        };
        Some(ParquetColumn {
            reader,
            nullable: kind.max_def_level() > 0,
            unsigned: is_unsigned(kind),
            levels: Vec::new(),
            values,
            row: 0,
            value: 0,
        })
    }

    /// Reads the next block, of at most `rows` rows, and says how many it has.
    pub fn read(&mut self, rows: usize) -> Result<usize, ParquetError> {
        (self.row, self.value) = (0, 0);
        self.levels.clear();
        let levels = self.nullable.then_some(&mut self.levels);
        match (&mut self.reader, &mut self.values) {
            (ColumnReader::BoolColumnReader(reader), Values::Bool(values)) => {
                read(reader, rows, levels, values)
            }
            (ColumnReader::Int32ColumnReader(reader), Values::Int32(values)) => {
                read(reader, rows, levels, values)
            }
            (ColumnReader::Int64ColumnReader(reader), Values::Int64(values)) => {
                read(reader, rows, levels, values)
            }
            (ColumnReader::FloatColumnReader(reader), Values::Float(values)) => {
                read(reader, rows, levels, values)
            }
            (ColumnReader::DoubleColumnReader(reader), Values::Double(values)) => {
                read(reader, rows, levels, values)
            }
            (ColumnReader::ByteArrayColumnReader(reader), Values::Text(values)) => {
                read(reader, rows, levels, values)
            }
            _ => Err(ParquetError::General(
                "a column has another type than its schema says".to_owned(),
            )),
        }
    }

    /// Goes back to the first row of the block.
    pub fn rewind(&mut self) {
        (self.row, self.value) = (0, 0);
    }

    /// The value of the next row of the block.
    #[inline]
    pub fn next(&mut self) -> Cell<'_> {
        self.row += 1;
        if self.nullable && self.levels.get(self.row - 1) == Some(&0) {
            return Cell::Null;
        }
        self.value += 1;
        self.values
            .get(self.value - 1, self.unsigned)
            .unwrap_or(Cell::Null)
    }
}

impl Values {
    #[inline]
    fn get(&self, at: usize, unsigned: bool) -> Option<Cell<'_>> {
        Some(match self {
            Values::Bool(values) => Cell::Text(if *values.get(at)? { b"true" } else { b"false" }),
            Values::Int32(values) => match *values.get(at)? {
                n if unsigned => Cell::Integer(i128::from(n as u32)),
                n => Cell::Integer(i128::from(n)),
            },
            Values::Int64(values) => match *values.get(at)? {
                n if unsigned => Cell::Integer(i128::from(n as u64)),
                n => Cell::Integer(i128::from(n)),
            },
            Values::Float(values) => Cell::Real(f64::from(*values.get(at)?)),
            Values::Double(values) => Cell::Real(*values.get(at)?),
            Values::Text(values) => Cell::Text(values.get(at)?.data()),
        })
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: Option<&mut Vec<i16>>,
    values: &mut Vec<T::T>,
) -> Result<usize, ParquetError> {
    values.clear();
    let (read, _, _) = reader.read_records(rows, levels, None, values)?;
    Ok(read)
}

fn is_unsigned(kind: &ColumnDescriptor) -> bool {
    let converted = matches!(
        kind.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    converted
        || matches!(kind.logical_type_ref(), Some(LogicalType::Integer(int)) if !int.is_signed)
}

/// The unit that the type of a column of times states.
pub(super) fn time_unit(kind: &ColumnDescriptor) -> Option<TimeUnit> {
    let of = |unit: &ParquetUnit| match unit {
        ParquetUnit::MILLIS => TimeUnit::Milliseconds,
        ParquetUnit::MICROS => TimeUnit::Microseconds,
        ParquetUnit::NANOS => TimeUnit::Nanoseconds,
    };
    match (kind.logical_type_ref(), kind.converted_type()) {
        (Some(LogicalType::Timestamp(time) | LogicalType::Time(time)), _) => Some(of(&time.unit)),
        (_, ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIME_MILLIS) => {
            Some(TimeUnit::Milliseconds)
        }
        (_, ConvertedType::TIMESTAMP_MICROS | ConvertedType::TIME_MICROS) => {
            Some(TimeUnit::Microseconds)
        }
        _ => None,
    }
}
