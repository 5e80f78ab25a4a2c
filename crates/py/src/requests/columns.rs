//! The columns of a row, the same in every format.

use std::sync::{Arc, LazyLock};

use opennandlab_sim::controller::breakdown::PART_NAMES;
use opennandlab_sim::op::{HostOp, ZoneAction, ZoneOp};
use opennandlab_sim::timed::RequestRow;
use opennandlab_sim::units::SECTOR_BYTES;
use opennandlab_sim::workload::trace::Trace;

/// Rows of a block: some 50 KiB.
const BLOCK_ROWS: usize = 256;

/// The volumes of a trace: where each request came from.
pub(crate) enum Volumes {
    /// There is one, or no trace.
    One(String),
    /// All of the trace, whose requests come in its order.
    All(Arc<Trace>),
}

impl Volumes {
    /// Those of a trace of which all were asked for by a word, or one by its name.
    pub(crate) fn of(trace: &Arc<Trace>, asked: &str) -> Self {
        match (trace.volumes(), asked) {
            ([_], _) => Self::One(String::new()),
            (_, "concat" | "overlay") => Self::All(Arc::clone(trace)),
            (_, name) => Self::One(name.to_owned()),
        }
    }
}

/// The names that rows have as numbers.
pub(crate) struct Names {
    pub(crate) stage: String,
    /// Of the hosts that share the drive; none for one that has it for itself.
    pub(crate) tenants: Vec<String>,
    pub(crate) volumes: Volumes,
}

/// The content of a column.
pub(super) enum Content {
    /// Numbers below 2^63.
    Number(fn(&RequestRow) -> u64),
    /// A part of the latency, by its index.
    Part(usize),
    Text(for<'a> fn(&'a Names, &RequestRow) -> &'a str),
}

/// A column.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) content: Content,
}

/// All of them, in order.
pub(super) static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let given = [
        ("seq", Content::Number(|row| row.sequence)),
        ("stage", Content::Text(|names, _| &names.stage)),
        ("tenant", Content::Text(tenant)),
        ("volume", Content::Text(volume)),
        ("op", Content::Text(|_, row| op(row.command.op))),
        ("flags", Content::Text(|_, row| flags(row))),
        ("offset_bytes", Content::Number(|row| row.command.sector * SECTOR_BYTES)),
        ("size_bytes", Content::Number(|row| row.command.bytes())),
        ("arrival_ns", Content::Number(|row| row.arrival.0)),
        ("start_ns", Content::Number(|row| row.start().0)),
        ("complete_ns", Content::Number(|row| row.completion.0)),
    ];
    let given = given.into_iter().map(|(name, content)| (name.to_owned(), content));
    let parts = PART_NAMES.iter().enumerate();
    let parts = parts.map(|(index, name)| (format!("{name}_ns"), Content::Part(index)));
    given.chain(parts).map(|(name, content)| Column { name, content }).collect()
});

/// The values of each column one after another, numbers as 8 bytes, little endian; `text` appends
/// one that is a name. By blocks: rows that are read again for each column are still in the cache.
pub(super) fn transpose(
    names: &Names,
    rows: &[RequestRow],
    columns: &mut Vec<Vec<u8>>,
    text: impl Fn(&mut Vec<u8>, &str),
) {
    columns.resize(COLUMNS.len(), Vec::new());
    columns.iter_mut().for_each(Vec::clear);
    for block in rows.chunks(BLOCK_ROWS) {
        for (column, out) in COLUMNS.iter().zip(&mut *columns) {
            match column.content {
                Content::Number(of) => push_numbers(out, block, of),
                Content::Part(index) => push_numbers(out, block, |row| row.parts.0[index]),
                Content::Text(of) => block.iter().for_each(|row| text(out, of(names, row))),
            }
        }
    }
}

fn push_numbers(out: &mut Vec<u8>, block: &[RequestRow], of: impl Fn(&RequestRow) -> u64) {
    let begin = out.len();
    out.resize(begin + 8 * block.len(), 0);
    for (bytes, row) in out[begin..].chunks_exact_mut(8).zip(block) {
        bytes.copy_from_slice(&of(row).to_le_bytes());
    }
}

fn tenant<'a>(names: &'a Names, row: &RequestRow) -> &'a str {
    names.tenants.get(usize::from(row.command.tenant)).map_or("", String::as_str)
}

fn volume<'a>(names: &'a Names, row: &RequestRow) -> &'a str {
    match &names.volumes {
        Volumes::One(name) => name,
        Volumes::All(trace) => {
            let record = &trace.records()[row.sequence as usize];
            &trace.volumes()[record.volume_index()]
        }
    }
}

fn op(op: HostOp) -> &'static str {
    match op {
        HostOp::Read => "read",
        HostOp::Write => "write",
        HostOp::Trim | HostOp::TrimMapped => "trim",
        HostOp::Flush => "flush",
        HostOp::Zone(ZoneOp::Append) => "append",
        HostOp::Zone(ZoneOp::Relocate) => "relocate",
        HostOp::Zone(ZoneOp::One(action) | ZoneOp::All(action)) => match action {
            ZoneAction::Open => "open",
            ZoneAction::Close => "close",
            ZoneAction::Finish => "finish",
            ZoneAction::Reset => "reset",
            ZoneAction::Offline => "offline",
        },
    }
}

/// One at most: each is of another kind of request.
fn flags(row: &RequestRow) -> &'static str {
    match row.command.op {
        HostOp::Read if row.is_lost => "lost",
        HostOp::Write if row.command.is_fua => "fua",
        HostOp::Zone(ZoneOp::All(_)) => "all",
        _ => "",
    }
}
