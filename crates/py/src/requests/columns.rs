//! The columns of a row, the same in every format.

use std::sync::{Arc, LazyLock};

use opennandlab_sim::controller::breakdown::PART_NAMES;
use opennandlab_sim::op::{HostOp, ZoneAction, ZoneOp};
use opennandlab_sim::timed::RequestRow;
use opennandlab_sim::units::SECTOR_BYTES;
use opennandlab_sim::workload::trace::Trace;
use opennandlab_sim::workload::Host;

/// Rows of a block: some 50 KiB.
const BLOCK_ROWS: usize = 256;

/// The names that rows have as numbers.
pub(crate) struct Names {
    stage: String,
    /// Tenant and volume by the number of the host, or empty text.
    hosts: Vec<(String, String)>,
    /// The trace whose requests come in its order, if its volumes are no hosts.
    trace: Option<Arc<Trace>>,
}

impl Names {
    /// Those of a stage with these hosts; `trace` is the one that is replayed alone.
    pub(crate) fn of(stage: String, hosts: &[Host], trace: Option<Arc<Trace>>) -> Self {
        let owner = |host: &Host| {
            let owner = host.volume_of.and_then(|owner| hosts.get(usize::from(owner)));
            owner.map_or(&host.name, |owner| &owner.name).clone()
        };
        let is_told_apart = |host: &Host| !host.volume.is_empty();
        let trace =
            trace.filter(|trace| trace.volumes().len() > 1 && !hosts.iter().any(is_told_apart));
        let hosts = hosts.iter().map(|host| (owner(host), host.volume.clone())).collect();
        Self { stage, hosts, trace }
    }
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
    names.hosts.get(usize::from(row.command.tenant)).map_or("", |(name, _)| name)
}

fn volume<'a>(names: &'a Names, row: &RequestRow) -> &'a str {
    let Some(trace) = &names.trace else {
        return names.hosts.get(usize::from(row.command.tenant)).map_or("", |(_, name)| name);
    };
    // It may be replayed several times.
    let record = &trace.records()[(row.sequence % trace.records().len() as u64) as usize];
    &trace.volumes()[record.volume_index()]
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
            ZoneAction::OpenZrwa => "open_zrwa",
            ZoneAction::FlushZrwa => "flush_zrwa",
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
