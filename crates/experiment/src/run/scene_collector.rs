//! Takes the scene of a run from the thread that runs it.

use destage_record::Scene;
use destage_sim::{RunError, RunSpec, WatchAsk, WatchHook, WatchWindow};
use destage_trace::Workload;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes the scene of one run from the thread of the run to another thread.
#[derive(Clone)]
pub struct SceneCollector {
    window: WatchWindow,
    limit: u64,
    scene: Arc<Mutex<Option<Scene>>>,
}

impl SceneCollector {
    /// For a run of `spec` over `workload`, in so many bytes of memory.
    ///
    /// # Errors
    /// There is no such window.
    pub fn new(
        ask: WatchAsk,
        spec: &RunSpec,
        workload: Workload<'_>,
        limit: u64,
    ) -> Result<SceneCollector, RunError> {
        Ok(SceneCollector {
            window: ask.window(spec, workload)?,
            limit,
            scene: Arc::default(),
        })
    }

    /// The hook through which the run hands over its scene.
    pub fn hook(self) -> WatchHook {
        WatchHook {
            window: self.window,
            limit: self.limit,
            take: Box::new(move |scene| {
                *self.scene.lock().unwrap_or_else(PoisonError::into_inner) = Some(scene);
                Ok(())
            }),
        }
    }

    /// The scene, when the run is done.
    pub fn take(&self) -> Option<Scene> {
        let mut scene = self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        scene.take()
    }
}
