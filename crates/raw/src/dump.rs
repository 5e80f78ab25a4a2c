//! The image of a chip as a file: every page with its OOB, in order, and nothing else.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use opennandlab_sim::config::ConfigError;

use crate::options::{Options, BLOCKS_MAX};

/// A dump whose size fits a chip.
pub(crate) struct Image {
    file: BufReader<File>,
    blocks: u32,
}

impl Image {
    /// Opens a dump.
    pub fn open(path: &Path, options: &Options) -> Result<Self, ConfigError> {
        let refused = |message: String| {
            Err(ConfigError::new("image", format!("{}: {message}", path.display())))
        };
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (about, file) = match opened {
            Ok(found) => found,
            Err(error) => return refused(error.to_string()),
        };
        if !about.is_file() {
            return refused("is not a regular file".to_owned());
        }
        let raw_bytes = options.raw_bytes() as u64;
        let block_bytes = raw_bytes * u64::from(options.pages_per_block);
        let (blocks, rest) = (about.len() / block_bytes, about.len() % block_bytes);
        if blocks == 0 || rest != 0 {
            return refused(format!(
                "{} bytes leave a remainder of {rest} bytes; accepted: whole blocks of {} pages \
                 of {} + {} bytes, {block_bytes} bytes each",
                about.len(),
                options.pages_per_block,
                options.page_bytes,
                options.oob_bytes,
            ));
        }
        let wanted = options.blocks.map_or(blocks, u64::from);
        if blocks != wanted || blocks > u64::from(BLOCKS_MAX) {
            return refused(format!(
                "has {blocks} blocks; accepted: {}",
                wanted.min(BLOCKS_MAX.into())
            ));
        }
        Ok(Self { file: BufReader::with_capacity(1 << 20, file), blocks: blocks as u32 })
    }

    /// Its erase blocks.
    pub fn block_count(&self) -> u32 {
        self.blocks
    }

    /// Gives its pages that are not all ones to `store`, in order.
    pub fn pages(
        mut self,
        options: &Options,
        mut store: impl FnMut(u32, u32, &[u8]),
    ) -> Result<(), ConfigError> {
        let mut bytes = vec![0; options.raw_bytes()];
        for block in 0..self.blocks {
            for page in 0..options.pages_per_block {
                let read = self.file.read_exact(&mut bytes);
                read.map_err(|error| ConfigError::new("image", error.to_string()))?;
                if bytes.iter().any(|&byte| byte != 0xff) {
                    store(block, page, &bytes);
                }
            }
        }
        Ok(())
    }
}

/// Writes pages to a file, which is replaced when all of them are written, or not at all.
pub(crate) fn write<'a>(path: &Path, pages: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut part = target.clone().into_os_string();
    part.push(format!(".{}.tmp", std::process::id()));
    let part = PathBuf::from(part);
    let file = File::create_new(&part)?;
    let write = || {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        for page in pages {
            file.write_all(page)?;
        }
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&part, &target)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}
