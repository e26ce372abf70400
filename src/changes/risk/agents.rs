//! What coding agents load: programs and rights (consent), and instructions (notice).

use super::codes::{AGENT_CONFIG, AGENT_INSTRUCTIONS};
use super::doc::Format::{Json, Toml, Yaml};
use super::keys::KeyRules;
use super::rule::Rule;

const CONFIG: &str = "is loaded by a coding agent, which can run what it names";
const INSTRUCTIONS: &str = "is read by coding agents as instructions";

/// Whatever is not known to be harmless; and losing a rule that forbids something.
const CLAUDE: KeyRules = KeyRules {
    risky: &["*"],
    harmless: &[
        "$schema",
        "model",
        "includeCoAuthoredBy",
        "attribution.*",
        "cleanupPeriodDays",
        "language",
        "alwaysThinkingEnabled",
        "spinnerTipsEnabled",
    ],
    lost: &["permissions.deny*", "permissions.ask*", "permissions.disable*", "sandbox.*", "disable*", "deny*"],
};
const SERVERS: KeyRules = KeyRules::all_but(&["$schema", "*.description"]);
const CODEX: KeyRules = KeyRules {
    risky: &["*"],
    harmless: &["model", "model_reasoning_effort", "model_verbosity", "tui.*"],
    lost: &["approval_policy", "sandbox*"],
};
const AIDER: KeyRules = KeyRules::all_but(&["model", "dark-mode", "light-mode", "read*"]);

/// Files by name. Instructions come first: they lie in the same folders.
pub(super) const RULES: &[Rule] = &[
    Rule::any("AGENTS.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any("AGENTS.override.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any("AGENT.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any("CLAUDE.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any("CLAUDE.local.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any("GEMINI.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any("QWEN.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".cursorrules", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".windsurfrules", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".clinerules", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".clinerules/hooks/**", AGENT_CONFIG, CONFIG),
    Rule::any(".clinerules/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".goosehints", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".rules", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".claude/rules/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".cursor/rules/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".windsurf/rules/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".roo/rules/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".continue/rules/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".kiro/steering/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".junie/guidelines.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".github/copilot-instructions.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".github/instructions/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".github/prompts/**", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".github/agents/**", AGENT_CONFIG, CONFIG),
    Rule::any(".github/hooks/**", AGENT_CONFIG, CONFIG),
    Rule::keys(".claude/settings*.json", AGENT_CONFIG, Json, CLAUDE),
    Rule::any(".claude/**", AGENT_CONFIG, CONFIG),
    Rule::any(".claude-plugin/**", AGENT_CONFIG, CONFIG),
    Rule::keys(".mcp.json", AGENT_CONFIG, Json, SERVERS),
    Rule::keys("mcp.json", AGENT_CONFIG, Json, SERVERS),
    Rule::keys(".codex/config.toml", AGENT_CONFIG, Toml, CODEX),
    Rule::any(".codex/**", AGENT_CONFIG, CONFIG),
    Rule::keys(".gemini/settings.json", AGENT_CONFIG, Json, CLAUDE),
    Rule::any(".gemini/**", AGENT_CONFIG, CONFIG),
    Rule::any(".qwen/**", AGENT_CONFIG, CONFIG),
    Rule::keys(".cursor/environment.json", AGENT_CONFIG, Json, SERVERS),
    Rule::any(".cursor/**", AGENT_CONFIG, CONFIG),
    Rule::any(".agents/**", AGENT_CONFIG, CONFIG),
    Rule::any(".agent/**", AGENT_CONFIG, CONFIG),
    Rule::keys(".aider.conf.yml", AGENT_CONFIG, Yaml, AIDER),
    Rule::any(".aider.*", AGENT_CONFIG, CONFIG),
    Rule::keys("opencode.json", AGENT_CONFIG, Json, CLAUDE),
    Rule::keys("opencode.jsonc", AGENT_CONFIG, Json, CLAUDE),
    Rule::any(".opencode/**", AGENT_CONFIG, CONFIG),
    Rule::keys("crush.json", AGENT_CONFIG, Json, CLAUDE),
    Rule::keys(".crush.json", AGENT_CONFIG, Json, CLAUDE),
    Rule::any(".continue/**", AGENT_CONFIG, CONFIG),
    Rule::any(".windsurf/**", AGENT_CONFIG, CONFIG),
    Rule::any(".kiro/**", AGENT_CONFIG, CONFIG),
    Rule::any(".roo/**", AGENT_CONFIG, CONFIG),
    Rule::any(".roomodes", AGENT_CONFIG, CONFIG),
    Rule::any(".goose/**", AGENT_CONFIG, CONFIG),
    Rule::any(".amp/**", AGENT_CONFIG, CONFIG),
    Rule::any(".factory/**", AGENT_CONFIG, CONFIG),
    Rule::any(".augment/**", AGENT_CONFIG, CONFIG),
    Rule::any(".copilot/**", AGENT_CONFIG, CONFIG),
    Rule::keys("conductor.json", AGENT_CONFIG, Json, SERVERS),
    // Of these little is known: text is taken for instructions, all else could be run.
    Rule::any(".amazonq/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".amazonq/**", AGENT_CONFIG, CONFIG),
    Rule::any(".openhands/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".openhands/**", AGENT_CONFIG, CONFIG),
    Rule::any(".pi/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".pi/**", AGENT_CONFIG, CONFIG),
    Rule::any(".vibe/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".vibe/**", AGENT_CONFIG, CONFIG),
    Rule::any(".iflow/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".iflow/**", AGENT_CONFIG, CONFIG),
    Rule::any(".codebuddy/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".codebuddy/**", AGENT_CONFIG, CONFIG),
    Rule::any(".qoder/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".qoder/**", AGENT_CONFIG, CONFIG),
    Rule::any(".grok/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".grok/**", AGENT_CONFIG, CONFIG),
    Rule::any(".kilocode/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".kilocode/**", AGENT_CONFIG, CONFIG),
    Rule::any(".trae/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".trae/**", AGENT_CONFIG, CONFIG),
    Rule::any(".serena/**/*.md", AGENT_INSTRUCTIONS, INSTRUCTIONS),
    Rule::any(".serena/**", AGENT_CONFIG, CONFIG),
];
