//! What a workshop has found out once and need not find out again for every cell. Pure but for the waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::error::Result;

/// Answers by their questions. Clones share what they know.
#[derive(Debug, Clone)]
pub(super) struct Memo<T = String>(Arc<Mutex<HashMap<String, Arc<OnceCell<T>>>>>);

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Memo<T> {
    /// Returns the answer to a question: the one that is known, or what `find` gives. Of several that ask at once one
    /// finds out and the others wait; an error is not remembered.
    pub(super) async fn once(
        &self,
        question: String,
        find: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let cell = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(question).or_default())
        };
        cell.get_or_try_init(|| find).await.cloned()
    }

    /// Forgets an answer that may be another one the next time.
    pub(super) fn forget(&self, question: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(question);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Kind};

    #[tokio::test]
    async fn a_question_is_answered_once_and_an_error_is_not_remembered() {
        let memo = Memo::default();
        let failed = async { Err(Error::new(Kind::Machine, "not now")) };
        assert!(memo.once("a".to_owned(), failed).await.is_err());
        for answer in ["first", "second"] {
            let find = async { Ok(answer.to_owned()) };
            let known = memo.clone().once("a".to_owned(), find).await;
            assert_eq!(known.unwrap(), "first");
        }
        let other = memo.once("b".to_owned(), async { Ok("other".to_owned()) });
        assert_eq!(other.await.unwrap(), "other");
    }
}
