//! Names of volumes and processes: texts that come again and again, as numbers.

use std::collections::BTreeMap;

/// The numbers of names.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    known: BTreeMap<String, u32>,
    /// Those that came last, by a hash; the number of an empty place is not valid.
    recent: Vec<(String, u32)>,
}

/// Names that are found without a search.
const RECENT: usize = 64;

impl Default for Index {
    fn default() -> Self {
        Self { known: BTreeMap::new(), recent: vec![(String::new(), u32::MAX); RECENT] }
    }
}

impl Index {
    /// The number of a name that is known.
    #[inline]
    pub fn get(&mut self, name: &str) -> Option<usize> {
        let ends = name.as_bytes().iter().rev().take(4);
        let hash = ends.fold(name.len(), |hash, &byte| hash * 31 + usize::from(byte));
        let recent = &mut self.recent[hash % RECENT];
        if recent.0 == name && recent.1 != u32::MAX {
            return Some(recent.1 as usize);
        }
        let found = *self.known.get(name)?;
        recent.0.clear();
        recent.0.push_str(name);
        recent.1 = found;
        Some(found as usize)
    }

    /// Gives a name a number.
    pub fn insert(&mut self, name: &str, index: usize) {
        self.known.insert(name.to_owned(), index as u32);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Names, one for each record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub list: Vec<String>,
    pub indices: Vec<u32>,
    known: Index,
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        (&self.list, &self.indices) == (&other.list, &other.indices)
    }
}

impl Eq for Names {}

impl Names {
    /// The name of the record at `index`.
    pub fn get(&self, index: usize) -> &str {
        &self.list[self.indices[index] as usize]
    }

    pub fn push(&mut self, name: &str) {
        let index = self.known.get(name).unwrap_or_else(|| {
            self.known.insert(name, self.list.len());
            self.list.push(name.to_owned());
            self.list.len() - 1
        });
        self.indices.push(index as u32);
    }
}
