//! Events of one controller besides those of health: namespaces that changed, and the end of a
//! sanitize.
//!
//! ```text
//! news ─► the oldest question for events is answered ─► masked ─► the host reads the log ─► again
//! ```
//! Source: NVM Express Base Specification 2.0, 5.2 Asynchronous Event Request.

use std::collections::BTreeSet;

/// The events as the first dword of a completion: type, information << 8, log << 16.
const NAMESPACE_CHANGED: u64 = 0x02 | 0x04 << 16;
const SANITIZE_DONE: u64 = 0x06 | 0x01 << 8 | 0x81 << 16;
/// A host asks for changes of namespaces by this bit of feature 0Bh.
const NAMESPACE_NOTICES: u32 = 1 << 8;

/// See the module.
#[derive(Default)]
pub(crate) struct News {
    /// Namespaces that changed since the host read the log of them.
    changed: BTreeSet<u32>,
    is_change_told: bool,
    /// Sanitizes that had ended at the last such event, or at the first question.
    sanitizes: Option<u64>,
    is_sanitize_masked: bool,
}

impl News {
    /// The event for a host that has asked; `sanitizes` have ended by now.
    pub(crate) fn next(&mut self, features: u32, sanitizes: u64) -> Option<u64> {
        let seen = *self.sanitizes.get_or_insert(sanitizes);
        if sanitizes > seen && !self.is_sanitize_masked {
            self.sanitizes = Some(sanitizes);
            self.is_sanitize_masked = true;
            return Some(SANITIZE_DONE);
        }
        let wants = features & NAMESPACE_NOTICES != 0;
        if wants && !self.changed.is_empty() && !self.is_change_told {
            self.is_change_told = true;
            return Some(NAMESPACE_CHANGED);
        }
        None
    }

    /// A sanitize that this controller began has ended: the event.
    pub(crate) fn sanitized(&mut self) -> Option<u64> {
        let seen = self.sanitizes?;
        self.next(0, seen + 1)
    }

    pub(crate) fn changed(&mut self, namespace: u32) {
        self.changed.insert(namespace);
    }

    /// The namespaces that changed, for the log of them.
    pub(crate) fn changes(&self) -> impl Iterator<Item = u32> + '_ {
        self.changed.iter().copied()
    }

    /// The host has read a log: its events come again.
    pub(crate) fn read(&mut self, log: u8) {
        match log {
            0x04 => {
                self.changed.clear();
                self.is_change_told = false;
            }
            0x81 => self.is_sanitize_masked = false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_told_once_until_their_log_is_read() {
        let mut news = News::default();
        assert_eq!(news.sanitized(), None);
        // Sanitizes from before it asked are none of its news.
        assert_eq!(news.next(0, 3), None);
        assert_eq!(news.sanitized(), Some(0x0081_0106));
        assert_eq!((news.next(0, 4), news.next(0, 5)), (None, None));
        news.read(0x81);
        assert_eq!(news.next(0, 5), Some(0x0081_0106));
        news.changed(2);
        assert_eq!(news.next(0, 5), None);
        assert_eq!(news.next(1 << 8, 5), Some(0x0004_0002));
        news.changed(1);
        assert_eq!(news.next(1 << 8, 5), None);
        assert_eq!(news.changes().collect::<Vec<_>>(), [1, 2]);
        news.read(0x04);
        assert_eq!((news.changes().count(), news.next(1 << 8, 5)), (0, None));
    }
}
