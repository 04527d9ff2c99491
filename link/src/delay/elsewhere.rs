//! Where there is no Linux there is no link, and opening a device says so.

use std::convert::Infallible;
use std::path::Path;

use super::{Counts, LinkError, Settings};

pub struct Tun(Infallible);

impl Tun {
    pub fn open(_name: &str) -> Result<Self, LinkError> {
        Err(LinkError::NeedsLinux)
    }

    pub fn open_in(_namespace: &Path, _name: &str) -> Result<Self, LinkError> {
        Err(LinkError::NeedsLinux)
    }
}

pub struct Link(Infallible);

impl Link {
    pub fn start(first: Tun, _second: Tun, _settings: Settings) -> Result<Self, LinkError> {
        match first.0 {}
    }

    pub fn keep_awake(&mut self) -> Result<(), LinkError> {
        match self.0 {}
    }

    pub fn settings(&self) -> Settings {
        match self.0 {}
    }

    pub fn set(&self, _settings: Settings) {
        match self.0 {}
    }

    pub fn counts(&self) -> [Counts; 2] {
        match self.0 {}
    }

    pub fn reset_counts(&self) {
        match self.0 {}
    }

    pub fn failure(&self) -> Option<String> {
        match self.0 {}
    }
}
