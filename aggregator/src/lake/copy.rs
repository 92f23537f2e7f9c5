//! Copying objects from one lake to another.

use futures::TryStreamExt;
use object_store::ObjectStoreExt;

use super::{Lake, LakeError, Listed};

impl Lake {
    /// Every object below a folder of the lake (all of the lake for ``), at any depth, sorted by name.
    ///
    /// # Errors
    /// When the store cannot be listed.
    pub async fn objects(&self, inside: &str) -> Result<Vec<Listed>, LakeError> {
        let prefix = self.at(inside);
        let found: Vec<_> = self.store.list(Some(&prefix)).try_collect().await.map_err(|source| LakeError::Object {
            what: "list",
            object: inside.to_owned(),
            source,
        })?;
        let mut out: Vec<Listed> = found
            .into_iter()
            .filter_map(|meta| {
                let parts: Vec<_> = meta.location.prefix_match(&prefix)?.collect();
                let name = parts.iter().map(AsRef::<str>::as_ref).collect::<Vec<_>>().join("/");
                Some(Listed { name, size_bytes: meta.size, written_ms: meta.last_modified.timestamp_millis() })
            })
            .collect();
        out.sort();
        Ok(out)
    }

    /// Size of an object; absent is `None`.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn size(&self, inside: &str) -> Result<Option<u64>, LakeError> {
        match self.store.head(&self.at(inside)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(LakeError::Object { what: "look at", object: inside.to_owned(), source }),
        }
    }

    /// Copies an object to the same place in another lake; says whether it was there to be copied. One that is there already
    /// with the same size is not written again: objects that `written_once` says so of never change.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub async fn copy_to(&self, to: &Self, inside: &str, written_once: bool) -> Result<Copied, LakeError> {
        let Some(size) = self.size(inside).await? else { return Ok(Copied::Gone) };
        if written_once && to.size(inside).await? == Some(size) {
            return Ok(Copied::There);
        }
        let Some(bytes) = self.get(inside).await? else { return Ok(Copied::Gone) };
        let size = bytes.len() as u64;
        to.put(inside, bytes).await?;
        Ok(Copied::Written(size))
    }
}

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// It was written, so many bytes.
    Written(u64),
    /// It was there.
    There,
    /// There is nothing to copy.
    Gone,
}
