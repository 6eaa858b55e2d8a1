//! Run → what to say → how to say it. Pure.
