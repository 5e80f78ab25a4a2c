//! Settings of a device that a test may change between two cells.
//!
//! The write buffer (`ftl.write_buffer_pages`, `host.write_cache`) can be switched at any time:
//! pages that wait in it are programmed first. The compressibility of data (`ftl.compression`)
//! decides how many logical pages a block takes, so it can change only while nothing is written;
//! wear stays.

use super::config::DeviceConfig;
use super::drive::Drive;
use crate::config::ConfigError;
use crate::ftl::NoRoom;
use crate::nand::{BlockTables, CellMode, Media};
use crate::op::{HostCommand, HostOp};

impl Drive {
    /// Changes the configuration of the drive.
    ///
    /// # Errors
    /// [`ConfigError`] when the two differ in what cannot change, or not now.
    pub(crate) fn reconfigure(&mut self, config: DeviceConfig) -> Result<(), ConfigError> {
        let mut rest = config.clone();
        rest.ftl.write_buffer_pages = self.config.ftl.write_buffer_pages;
        rest.host.write_cache.clone_from(&self.config.host.write_cache);
        let is_buffer_only = rest == self.config;
        rest.ftl.compression.clone_from(&self.config.ftl.compression);
        if rest != self.config {
            let message = "this device differs in more than a drive can change; accepted: another \
                           ftl.write_buffer_pages, host.write_cache or ftl.compression";
            return Err(ConfigError::new(".", message));
        }
        if self.buffered_pages() > 0 {
            let flush = HostCommand::new(HostOp::Flush, 0, 0);
            let outcome = self.run_instant(&mut [flush], |_| {});
            self.is_worn_out |= outcome == Err(NoRoom::WornOut);
        }
        if !is_buffer_only && self.ftl.figures().mapped_pages() > 0 {
            let message = "what data is like cannot change while the drive holds some; accepted: \
                           a change after a purge";
            return Err(ConfigError::new("ftl.compression", message));
        }
        if !is_buffer_only {
            self.rebuild(&config);
        }
        self.config = config;
        self.forget_memory();
        Ok(())
    }

    /// Media and firmware of the same wear, for blocks that take another number of pages.
    fn rebuild(&mut self, config: &DeviceConfig) {
        let setup = config.pool_setup(self.seed);
        let tables = self.media.tables();
        let blocks = tables.erase_counts.len();
        let (modes, copyback_depths) = (vec![CellMode::Native; blocks], vec![0; blocks]);
        // Blocks of pages in parts take as many as before: they exclude data of another size.
        let disturbs = vec![0; tables.disturbs.len()];
        let tables = BlockTables { modes, copyback_depths, disturbs, ..tables };
        let superblocks = config.superblocks();
        let media =
            Media::restore(setup.geometry, superblocks, tables).expect("as many blocks as before");
        self.ftl = self.ftl.successor(&config.ftl, &setup, &media);
        self.media = media;
        self.geometry = setup.geometry;
        self.connect_choosers();
    }
}
