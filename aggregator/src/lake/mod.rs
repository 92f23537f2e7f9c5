//! The lake: where its tables and documents lie, and who may write.
//!
//! A lake is a folder or any object store that `object_store` can open by URL. One writer at a time holds the
//! lock (a folder's lock file; on an object store the create-if-absent documents decide).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::path::Path as StorePath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

mod copy;
mod document;
mod lock;
mod table;

pub use copy::Copied;
pub use document::{Batch, BatchSegment, Build, Cut};
pub use lock::WriterLock;
pub use table::{Compacted, Digested, TableError, TableFile};

use gpuledger_schema::path::{self, Numbered};

/// What can go wrong with a lake as a whole.
#[derive(Debug, thiserror::Error)]
pub enum LakeError {
    /// The location is neither a folder nor a URL that can be opened.
    #[error("cannot open the lake at `{at}`")]
    Open {
        /// Location as typed.
        at: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An object could not be read, written or listed.
    #[error("cannot {what} `{object}` in the lake")]
    Object {
        /// The operation.
        what: &'static str,
        /// Path inside the lake.
        object: String,
        /// Why.
        #[source]
        source: object_store::Error,
    },
    /// A document of the lake does not read as it should.
    #[error("`{object}` is not a document of this version")]
    Document {
        /// Path inside the lake.
        object: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Another process is writing.
    #[error("another gpuledger is writing to `{at}`; wait for it to finish (lock file: {lock})")]
    Locked {
        /// The lake.
        at: String,
        /// The lock file.
        lock: String,
    },
    /// The lock file could not be made.
    #[error("cannot write to `{at}` (lock file {lock})")]
    Lock {
        /// The lake.
        at: String,
        /// The lock file.
        lock: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A table failed.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// An object of the lake as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Name below the folder that was listed.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it was last written, by the store's clock.
    pub written_ms: i64,
}

/// An open lake.
#[derive(Debug, Clone)]
pub struct Lake {
    shown: String,
    root: Url,
    store: Arc<dyn ObjectStore>,
    prefix: StorePath,
    folder: Option<PathBuf>,
}

impl Lake {
    /// Opens the lake at a folder or URL. A folder is made if it is absent and `create` is set.
    pub fn open(at: &str, create: bool) -> Result<Self, LakeError> {
        let fail = |source: Box<dyn std::error::Error + Send + Sync>| LakeError::Open { at: at.to_owned(), source };
        let folder = match Url::parse(at) {
            Ok(url) if url.scheme() == "file" => {
                Some(url.to_file_path().map_err(|()| fail("not a path of this machine".into()))?)
            }
            Ok(url) if url.scheme().len() > 1 => {
                let (store, prefix) =
                    object_store::parse_url_opts(&url, credentials()).map_err(|e| fail(Box::new(e)))?;
                table::speak(url.scheme());
                return Ok(Self {
                    shown: at.to_owned(),
                    root: slashed(url),
                    store: Arc::from(store),
                    prefix,
                    folder: None,
                });
            }
            _ => Some(PathBuf::from(at)),
        };
        let Some(folder) = folder else { return Err(fail("not a location".into())) };
        if create {
            // collectors put segments into an inbox that is there: one that is not may be a lake that is not mounted
            make_folder(&folder.join(path::INBOX)).map_err(|e| fail(Box::new(e)))?;
        }
        let folder = folder.canonicalize().map_err(|e| fail(Box::new(e)))?;
        let root = Url::from_directory_path(&folder).map_err(|()| fail("not an absolute folder".into()))?;
        let store = object_store::local::LocalFileSystem::new_with_prefix(&folder).map_err(|e| fail(Box::new(e)))?;
        Ok(Self {
            shown: at.to_owned(),
            root,
            store: Arc::new(store),
            prefix: StorePath::default(),
            folder: Some(folder),
        })
    }

    /// The location as the user gave it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The folder, where the lake is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// URL of something inside the lake; ends with a slash.
    pub fn url(&self, inside: &str) -> Result<Url, LakeError> {
        self.root
            .join(&format!("{inside}/"))
            .map_err(|e| LakeError::Open { at: self.shown.clone(), source: Box::new(e) })
    }

    /// Takes the right to write, or says who has it.
    pub fn lock(&self) -> Result<WriterLock, LakeError> {
        WriterLock::take(self.folder.as_deref(), &self.shown)
    }

    /// The path as it is: `StorePath::from` would escape the `~` in names of segments, and they would never be found.
    fn at(&self, inside: &str) -> StorePath {
        let path = format!("{}/{inside}", self.prefix);
        StorePath::parse(&path).unwrap_or_else(|_| StorePath::from(path))
    }

    /// Writes an object whole.
    #[allow(clippy::disallowed_methods, reason = "objects of the lake are written here and in create_document")]
    pub async fn put(&self, inside: &str, bytes: Vec<u8>) -> Result<(), LakeError> {
        self.store
            .put(&self.at(inside), PutPayload::from(bytes))
            .await
            .map(|_| ())
            .map_err(|source| LakeError::Object { what: "write", object: inside.to_owned(), source })
    }

    /// Writes a document unless there is one of that name; says whether it was written.
    #[allow(clippy::disallowed_methods, reason = "documents of the lake are written here, create-if-absent")]
    pub async fn create_document<T: Serialize + Sync>(&self, inside: &str, document: &T) -> Result<bool, LakeError> {
        let bytes = serde_json::to_vec_pretty(document)
            .map_err(|source| LakeError::Document { object: inside.to_owned(), source })?;
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.put_opts(&self.at(inside), PutPayload::from(bytes), options).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(source) => Err(LakeError::Object { what: "write", object: inside.to_owned(), source }),
        }
    }

    /// Reads an object; absent is `None`.
    pub async fn get(&self, inside: &str) -> Result<Option<Vec<u8>>, LakeError> {
        let fail = |source| LakeError::Object { what: "read", object: inside.to_owned(), source };
        match self.store.get(&self.at(inside)).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(fail)?.to_vec())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(fail(source)),
        }
    }

    /// Removes an object; absent is fine.
    pub async fn remove(&self, inside: &str) -> Result<(), LakeError> {
        match self.store.delete(&self.at(inside)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(LakeError::Object { what: "remove", object: inside.to_owned(), source }),
        }
    }

    /// Names of the objects right below a folder of the lake with their sizes, sorted. Never cached.
    pub async fn list(&self, inside: &str) -> Result<Vec<(String, u64)>, LakeError> {
        let below = self.list_nested(inside).await?;
        Ok(below.into_iter().filter(|o| !o.name.contains('/')).map(|o| (o.name, o.size_bytes)).collect())
    }

    /// The same, and those one folder further down as `folder/name`.
    pub async fn list_nested(&self, inside: &str) -> Result<Vec<Listed>, LakeError> {
        let mut names = self.objects(inside).await?;
        names.retain(|o| o.name.matches('/').count() <= 1);
        Ok(names)
    }

    /// The newest numbered document of a folder.
    pub async fn newest<T: DeserializeOwned>(&self, folder: &str) -> Result<Option<(Numbered, T)>, LakeError> {
        let numbers = self.list(folder).await?;
        let Some(number) = numbers.iter().filter_map(|(name, _)| Numbered::parse(name)).max() else {
            return Ok(None);
        };
        self.document(folder, number).await.map(|found| found.map(|d| (number, d)))
    }

    /// A numbered document of a folder.
    pub async fn document<T: DeserializeOwned>(&self, folder: &str, number: Numbered) -> Result<Option<T>, LakeError> {
        let object = format!("{folder}/{}", number.file_name());
        match self.get(&object).await? {
            None => Ok(None),
            Some(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|source| LakeError::Document { object, source })
            }
        }
    }

    /// Puts a segment into the inbox under its final name.
    pub async fn deliver(&self, file_name: &str, bytes: Vec<u8>) -> Result<(), LakeError> {
        self.put(&format!("{}/{file_name}", path::INBOX), bytes).await
    }
}

/// What an object store's client reads from the environment: `AWS_...`, `GOOGLE_...`, `AZURE_...`.
fn credentials() -> impl Iterator<Item = (String, String)> {
    std::env::vars().filter(|(k, _)| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|p| k.starts_with(p)))
}

/// The one place where this crate makes a folder.
#[allow(clippy::disallowed_methods, reason = "a lake's folder is made here and nowhere else")]
fn make_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}

fn slashed(mut url: Url) -> Url {
    if !url.path().ends_with('/') {
        let with = format!("{}/", url.path());
        url.set_path(&with);
    }
    url
}
