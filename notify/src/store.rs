//! The control file, as the courier uses it: one connection, calls that block kept off the threads that wait for networks.

use std::sync::{Arc, Mutex, PoisonError};

use gpuledger_control::{Control, ControlError};

/// The control file, shared by the lanes of a courier.
#[derive(Debug, Clone)]
pub struct Store {
    control: Arc<Mutex<Control>>,
}

impl Store {
    /// Takes over an open control file.
    pub fn new(control: Control) -> Self {
        Self { control: Arc::new(Mutex::new(control)) }
    }

    /// Runs a call on the control file.
    ///
    /// # Errors
    ///
    /// What the call says; nothing else.
    pub async fn call<T, F>(&self, work: F) -> Result<T, ControlError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Control) -> Result<T, ControlError> + Send + 'static,
    {
        let control = Arc::clone(&self.control);
        // A call that panicked left its transaction undone: the file is as it was.
        let run = move || work(&mut control.lock().unwrap_or_else(PoisonError::into_inner));
        match tokio::task::spawn_blocking(run).await {
            Ok(result) => result,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }
}
