//! The shape of the flash for the FTL: map units instead of pages, and more of them in a block
//! under compression.
//!
//! Page numbers have 32 bits, so the number of units in a block is limited.

use crate::config::ConfigError;
use crate::geometry::Geometry;
use crate::units::SECTOR_BYTES;

/// Map units of a block, at most.
const UNITS_MAX: u64 = 1 << 20;

/// The same with compression: there, the place of a unit is a product of two such numbers, in 32
/// bits.
const COMPRESSED_MAX: u64 = 65_535;

/// Checks that pages of blocks of `pages_per_block` pages can be numbered; the error gives the
/// reason.
fn check_numbers(geometry: &Geometry, pages_per_block: u64, limit: u64) -> Result<(), String> {
    let page_bits = pages_per_block.next_power_of_two().trailing_zeros();
    if pages_per_block <= limit && geometry.block_count() <= u32::MAX >> page_bits {
        return Ok(());
    }
    Err(format!(
        "a block of {} pages would hold {pages_per_block} map units, in {} blocks; accepted: at \
         most {limit} in a block, and 32-bit numbers",
        geometry.flash_pages_per_block(),
        geometry.block_count()
    ))
}

impl super::FtlConfig {
    /// The shape of the flash under this section: the order of striping, and blocks that take more
    /// logical pages under compression.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ftl`, when blocks or page numbers become too large.
    pub fn shape(&self, geometry: Geometry) -> Result<Geometry, ConfigError> {
        let units_per_page = self.units_per_page(&geometry)?;
        let units = u64::from(geometry.pages_per_block) * u64::from(units_per_page);
        check_numbers(&geometry, units, UNITS_MAX)
            .map_err(|message| ConfigError::new("map_unit_bytes", message))?;
        if units_per_page > 1 {
            self.check_units()?;
        }
        let mut geometry = geometry.with_units(units_per_page).striped(self.allocation.order());
        if self.allocation.is_dynamic() {
            geometry.striping = geometry.striping.overruled();
        }
        let ratio = self.compression.as_ref().map_or(1.0, super::Compression::ratio);
        // 1e-12 guards the floor against rounding down an exact quotient.
        let slots = f64::from(geometry.pages_per_block) / ratio * (1.0 + 1e-12);
        let pages_per_block = slots.min(f64::from(u32::MAX)) as u32;
        let limit = if ratio < 1.0 { COMPRESSED_MAX } else { UNITS_MAX };
        check_numbers(&geometry, pages_per_block.into(), limit).map_err(|message| {
            ConfigError::new("compression.ratio", format!("with {ratio}, {message}"))
        })?;
        let page_bits = pages_per_block.next_power_of_two().trailing_zeros();
        Ok(Geometry { pages_per_block, page_bits, ..geometry })
    }

    /// Whether the other keys allow map units smaller than a page.
    fn check_units(&self) -> Result<(), ConfigError> {
        let key = if self.stripe() > 0 {
            "parity"
        } else if self.copyback.is_some() {
            "copyback"
        } else {
            return Ok(());
        };
        let message = format!(
            "smaller than a page with ftl.{key}, which works on whole pages; accepted: none with \
             ftl.{key}"
        );
        Err(ConfigError::new("map_unit_bytes", message))
    }

    /// Pages of `page_bytes` bytes in a map unit that is larger than a page; 1 for smaller units,
    /// and for sizes that [`FtlConfig::shape`](super::FtlConfig::shape) refuses.
    pub fn pages_per_unit(&self, page_bytes: u64) -> u32 {
        let is_larger = |&unit: &u64| unit.is_power_of_two() && unit > page_bytes;
        self.map_unit_bytes.filter(is_larger).map_or(1, |unit| (unit / page_bytes) as u32)
    }

    /// Map units of a page of `geometry`, which is not smaller than a unit: with units of several
    /// pages of the flash, planes are joined into such a page.
    fn units_per_page(&self, geometry: &Geometry) -> Result<u32, ConfigError> {
        let page_bytes = geometry.page_bytes;
        let unit_bytes = self.map_unit_bytes.unwrap_or(page_bytes);
        if unit_bytes.is_power_of_two() && (SECTOR_BYTES..=page_bytes).contains(&unit_bytes) {
            return Ok((page_bytes / unit_bytes) as u32);
        }
        let message = format!(
            "{unit_bytes} bytes; accepted: a power of two from {SECTOR_BYTES} to the {page_bytes} \
             of nand.page_size_bytes, or twice, four times … that where nand.multi_plane joins as \
             many planes"
        );
        Err(ConfigError::new("map_unit_bytes", message))
    }
}
