//! Finding an environment that is ready: by all that it depends on.

use std::fs;

use super::cache::{Cache, Prepared};
use super::key::Key;
use super::layer;
use super::ready::Preparer;
use crate::engine::oci::beside::data;
use crate::error::{Error, Result, show};
use crate::policy::Network;

impl Preparer<'_> {
    /// What the result depends on.
    pub fn key(&self) -> Result<Key> {
        self.key_with(self.plan.network)
    }

    fn key_with(&self, network: Network) -> Result<Key> {
        let setup = self.setup();
        let mut key = Key::new();
        let json = |value: serde_json::Value| value.to_string().into_bytes();
        let record = self.engine.record();
        key.add("the engine", format!("{} {}", record.kind, record.rootless).as_bytes());
        match self.image {
            Some(image) => key.add("the image", image.facts.id.as_bytes()),
            None => key.add("the system", &fs::read("/etc/os-release").unwrap_or_default()),
        }
        let users = [self.plan.user.as_deref(), self.plan.setup_user.as_deref()];
        key.add("the user", users.into_iter().flatten().collect::<Vec<_>>().join(" ").as_bytes());
        key.add("the account", self.plan.account.as_deref().unwrap_or_default().as_bytes());
        key.add("the container's options", format!("{:?} {:?}", setup.container, setup.mounts).as_bytes());
        // What one repo's files made of the same plan is not for another: its scripts may be anybody's.
        key.add("the repository", self.files.root().as_os_str().as_encoded_bytes());
        key.add("the place of the repository", self.plan.workspace.as_os_str().as_encoded_bytes());
        key.add("the network", format!("{network:?}").as_bytes());
        key.add("the steps", &json(serde_json::to_value(self.once()).unwrap_or_default()));
        let names = [self.env.names(), setup.secret_env.names()];
        let variables = serde_json::json!([setup.env, setup.remote_env, setup.user_env_probe, names]);
        key.add("the variables", &json(variables));
        if !setup.services.is_empty() {
            key.add("the services", &json(serde_json::to_value(&setup.services).unwrap_or_default()));
        }
        for layer in &self.plan.below {
            // Its path says what is in it.
            key.add("what lies over the repository", layer.as_os_str().as_encoded_bytes());
        }
        for input in &setup.inputs {
            key.add_file(self.files, input).map_err(|e| Error::io("read", input, e))?;
        }
        Ok(key)
    }

    /// The one that is there, if it is still good; else why it is not.
    pub fn find(&self, key: &Key) -> Result<Prepared, Option<String>> {
        let cache = Cache::new(self.cache);
        // Who runs without a network may use what was prepared with one.
        let online = || self.key_with(Network::Full).ok().filter(|_| self.plan.network == Network::None);
        let Some(found) = cache.newest(&key.id()).or_else(|| cache.newest(&online()?.id())) else {
            let before = cache.latest_of(self.files.root(), self.engine.record().kind);
            return Err(before.map(|before| key.changed_since(&before.record.key).join(", ")));
        };
        if let Some(covered) = layer::outdated(&found.record.covers, self.files) {
            return Err(Some(format!("{} changed, which the setup changes too", show(&covered.path.0))));
        }
        let image = found.record.image.as_deref().map(|name| self.engine.image_facts(name));
        if matches!(image, Some(Ok(None) | Err(_))) {
            return Err(Some("its image is gone".to_owned()));
        }
        if found.record.home.as_ref().is_some_and(|home| !home.0.is_dir()) {
            return Err(Some("its layer over the home is gone".to_owned()));
        }
        let volumes = &found.record.volumes;
        if self.engine.client().is_some_and(|client| !data::are_there(client, &found.id(), volumes)) {
            return Err(Some("its volumes are gone".to_owned()));
        }
        Ok(found)
    }
}
